#include <algorithm>

#include "amct/formats/tensorflow/meta_graph_state.h"

namespace amct::tensorflow {
namespace {

std::string node_of(std::string_view tensor) { return parse_input(tensor).node; }

void collect_values(const schema::ContextValues& values, std::unordered_set<std::string>& names) {
  std::unordered_set<std::string> outside;
  for (const schema::ContextValue& entry : values.external_values()) outside.insert(entry.key());
  for (const std::string& value : values.values())
    if (!outside.contains(value)) names.insert(node_of(value));
}

void collect(const schema::CondContext& context, std::unordered_set<std::string>& names);
void collect(const schema::WhileContext& context, std::unordered_set<std::string>& names);

void collect(const schema::Context& context, std::unordered_set<std::string>& names) {
  if (context.has_cond_ctxt()) collect(context.cond_ctxt(), names);
  if (context.has_while_ctxt()) collect(context.while_ctxt(), names);
}

void collect(const schema::CondContext& context, std::unordered_set<std::string>& names) {
  collect_values(context.values_def(), names);
  for (const schema::Context& nested : context.nested_contexts()) collect(nested, names);
}

void collect(const schema::WhileContext& context, std::unordered_set<std::string>& names) {
  collect_values(context.values_def(), names);
  for (const schema::Context& nested : context.nested_contexts()) collect(nested, names);
}

using Removed = std::unordered_set<std::string>;

bool gone(const std::string& tensor, const Removed& removed) {
  return removed.contains(node_of(tensor));
}

void strip_values(schema::ContextValues& values, const Removed& removed) {
  for (int i = values.values_size(); i-- > 0;)
    if (gone(values.values(i), removed)) values.mutable_values()->DeleteSubrange(i, 1);
  for (int i = values.external_values_size(); i-- > 0;)
    if (gone(values.external_values(i).key(), removed) ||
        gone(values.external_values(i).value(), removed))
      values.mutable_external_values()->DeleteSubrange(i, 1);
}

bool strip(schema::CondContext& context, const Removed& removed);
bool strip(schema::WhileContext& context, const Removed& removed);

/// Drops what is removed; false when the context itself cannot stay.
bool strip(schema::Context& context, const Removed& removed) {
  if (context.has_cond_ctxt()) return strip(*context.mutable_cond_ctxt(), removed);
  if (context.has_while_ctxt()) return strip(*context.mutable_while_ctxt(), removed);
  return true;
}

template <typename Message>
void strip_nested(Message& context, const Removed& removed) {
  for (int i = context.nested_contexts_size(); i-- > 0;)
    if (!strip(*context.mutable_nested_contexts(i), removed))
      context.mutable_nested_contexts()->DeleteSubrange(i, 1);
}

bool strip(schema::CondContext& context, const Removed& removed) {
  if (gone(context.pred_name(), removed) || gone(context.pivot_name(), removed)) return false;
  if (context.has_values_def()) strip_values(*context.mutable_values_def(), removed);
  strip_nested(context, removed);
  return true;
}

bool strip(schema::WhileContext& context, const Removed& removed) {
  const auto lost = [&](const std::string& name) { return gone(name, removed); };
  if (lost(context.pivot_name()) || lost(context.pivot_for_pred_name()) ||
      lost(context.pivot_for_body_name()) || std::ranges::any_of(context.loop_exit_names(), lost) ||
      std::ranges::any_of(context.loop_enter_names(), lost))
    return false;
  if (context.has_values_def()) strip_values(*context.mutable_values_def(), removed);
  strip_nested(context, removed);
  return true;
}

template <typename Message>
void update_contexts(schema::BytesList& list, const Removed& removed) {
  for (int i = list.value_size(); i-- > 0;) {
    Message context;
    if (!context.ParseFromString(list.value(i))) continue;
    if (strip(context, removed))
      list.set_value(i, context.SerializeAsString());
    else
      list.mutable_value()->DeleteSubrange(i, 1);
  }
}

using Replaced = std::unordered_map<std::string, std::vector<VariableNames>>;

std::string declaration(const schema::Variable& old, const VariableNames& names) {
  schema::Variable variable = old;
  variable.clear_save_slice_info_def();
  variable.set_variable_name(names.variable + ":0");
  variable.set_initializer_name(names.initializer);
  variable.set_snapshot_name(names.snapshot + ":0");
  variable.set_initial_value_name(names.initial_value + ":0");
  return variable.SerializeAsString();
}

template <typename Field>
void assign(Field& field, const std::vector<std::string>& values) {
  field.Clear();
  for (const std::string& value : values) *field.Add() = value;
}

void add_once(std::vector<std::string>& values, std::string value) {
  if (std::ranges::find(values, value) == values.end()) values.push_back(std::move(value));
}

void update_declarations(schema::BytesList& list, const Replaced& replaced) {
  std::vector<std::string> values;
  for (const std::string& value : list.value()) {
    schema::Variable variable;
    const auto found = variable.ParseFromString(value)
                           ? replaced.find(node_of(variable.variable_name()))
                           : replaced.end();
    if (found == replaced.end())
      values.push_back(value);
    else
      for (const VariableNames& names : found->second)
        add_once(values, declaration(variable, names));
  }
  assign(*list.mutable_value(), values);
}

void update_names(schema::NodeList& list, const Replaced& replaced, const Removed& removed) {
  std::vector<std::string> values;
  for (const std::string& value : list.value()) {
    const auto found = replaced.find(node_of(value));
    if (found != replaced.end())
      for (const VariableNames& names : found->second) add_once(values, names.variable + ":0");
    else if (!gone(value, removed))
      values.push_back(value);
  }
  assign(*list.mutable_value(), values);
}

bool is_empty(const schema::Collection& collection) {
  return (collection.has_node_list() && collection.node_list().value().empty()) ||
         (collection.has_bytes_list() && collection.bytes_list().value().empty());
}

}  // namespace

std::unordered_set<std::string> nodes_in_contexts(const schema::MetaGraph& meta) {
  std::unordered_set<std::string> names;
  for (const schema::CollectionEntry& entry : meta.collection_def())
    for (const std::string& bytes : entry.value().bytes_list().value()) {
      schema::CondContext cond;
      schema::WhileContext loop;
      if (entry.key() == "cond_context" && cond.ParseFromString(bytes)) collect(cond, names);
      if (entry.key() == "while_context" && loop.ParseFromString(bytes)) collect(loop, names);
    }
  return names;
}

std::unordered_set<std::string> nodes_in_lists(const schema::MetaGraph& meta) {
  std::unordered_set<std::string> names;
  for (const schema::CollectionEntry& entry : meta.collection_def())
    for (const std::string& value : entry.value().node_list().value()) names.insert(node_of(value));
  return names;
}

void update_collections(schema::MetaGraph& meta, const Replaced& replaced, const Removed& removed) {
  for (int i = meta.collection_def_size(); i-- > 0;) {
    schema::CollectionEntry& entry = *meta.mutable_collection_def(i);
    schema::Collection& collection = *entry.mutable_value();
    if (is_empty(collection)) continue;
    if (collection.has_node_list())
      update_names(*collection.mutable_node_list(), replaced, removed);
    else if (entry.key() == "cond_context")
      update_contexts<schema::CondContext>(*collection.mutable_bytes_list(), removed);
    else if (entry.key() == "while_context")
      update_contexts<schema::WhileContext>(*collection.mutable_bytes_list(), removed);
    else if (collection.has_bytes_list())
      update_declarations(*collection.mutable_bytes_list(), replaced);
    if (is_empty(collection)) meta.mutable_collection_def()->DeleteSubrange(i, 1);
  }
}

}  // namespace amct::tensorflow
