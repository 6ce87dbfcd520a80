# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Parameters of the documented Python API: callers pass them by position and by name.

A row is `name(parameters)`; a parameter with `=` is optional, and those after `*` are passed by name. More parameters
may follow if they are optional too.
"""

from __future__ import annotations

import importlib
import inspect
import re
from functools import reduce
from inspect import Parameter
from typing import Any

import pytest

_DOCUMENTED = {
    "executorch.backends.transforms.decompose_sdpa": """
        DecomposeScaledDotProductAttention(allow_non_fake_inputs=)
        DecomposeScaledDotProductAttention.call(graph_module, allow_non_fake_inputs=)
    """,
    "executorch.backends.xnnpack.partition.xnnpack_partitioner": """
        XnnpackPartitioner(configs=, config_precisions=, per_op_mode=, verbose=)
        XnnpackPartitioner.ops_to_not_decompose(ep)
        XnnpackPartitioner.partition(exported_program)
    """,
    "executorch.backends.xnnpack.quantizer.xnnpack_quantizer": """
        XNNPACKQuantizer()
        XNNPACKQuantizer.annotate(model)
        XNNPACKQuantizer.get_supported_quantization_configs()
        XNNPACKQuantizer.set_filter_function(filter_fn)
        XNNPACKQuantizer.set_global(quantization_config)
        XNNPACKQuantizer.set_module_name(module_name, quantization_config)
        XNNPACKQuantizer.set_module_type(module_type, quantization_config)
        XNNPACKQuantizer.set_operator_type(operator_type, quantization_config)
        XNNPACKQuantizer.validate(model)
        get_symmetric_quantization_config(is_per_channel=, is_qat=, is_dynamic=, act_qmin=, act_qmax=, weight_qmin=,
            weight_qmax=)
    """,
    "executorch.backends.xnnpack.serialization.xnnpack_graph_schema": """
        XNNGraph(version, xnodes, xvalues, num_externs, input_ids, output_ids, constant_data)
    """,
    "executorch.codegen.tools.gen_all_oplist": """
        main(argv)
    """,
    "executorch.codegen.tools.gen_oplist": """
        main(args)
    """,
    "executorch.codegen.tools.gen_ops_def": """
        main(args)
    """,
    "executorch.codegen.tools.gen_selected_op_variants": """
        main(argv)
    """,
    "executorch.codegen.tools.merge_yaml": """
        main(argv)
    """,
    "executorch.devtools": """
        BundledProgram(executorch_program, method_test_suites, pte_file_path=)
        BundledProgram.serialize_to_schema()
        ETRecord.add_edge_dialect_program(edge_dialect_program)
        ETRecord.add_executorch_program(executorch_program)
        ETRecord.add_exported_program(exported_program)
        ETRecord.add_extra_export_modules(extra_recorded_export_modules)
        ETRecord.copy()
        ETRecord.save(path)
        ETRecord.update_reference_outputs(reference_outputs)
        ETRecord.update_representative_inputs(representative_inputs)
        Inspector(etdump_path=, etdump_data=, etrecord=, source_time_scale=, target_time_scale=, debug_buffer_path=,
            delegate_metadata_parser=, delegate_time_scale_converter=, enable_module_hierarchy=,
            reference_graph_name=)
        Inspector.calculate_numeric_gap(distance, disable_debug_handle_valdiation=, reference_graph=)
        Inspector.find_total_for_module(module_name)
        Inspector.get_exported_program(graph=)
        Inspector.get_op_list(event_block, show_delegated_ops=)
        Inspector.print_data_tabular(file=, include_units=, include_delegate_debug_data=)
        Inspector.save_data_to_tsv(file, include_units=, include_delegate_debug_data=)
        Inspector.to_dataframe(include_units=, include_delegate_debug_data=)
        generate_etrecord(et_record, edge_dialect_program, executorch_program, exported_program=,
            extra_recorded_export_modules=)
        parse_etrecord(etrecord_path)
    """,
    "executorch.devtools.backend_debug": """
        get_delegation_info(graph_module)
        print_delegation_info(graph_module)
    """,
    "executorch.devtools.bundled_program.config": """
        MethodTestCase(inputs, expected_outputs=)
        MethodTestSuite(method_name, test_cases)
    """,
    "executorch.devtools.bundled_program.serialize": """
        deserialize_from_flatbuffer_to_bundled_program(flatbuffer)
        serialize_from_bundled_program_to_flatbuffer(bundled_program)
    """,
    "executorch.devtools.inspector": """
        Event(name, perf_data=, op_types=, delegate_debug_identifier=, debug_handles=, num_outputs=, stack_traces=,
            module_hierarchy=, is_delegated_op=, delegate_backend_name=)
        Event.asdict(_units=)
        Event.to_dataframe(_units=)
        EventBlock(name, events=, source_time_scale=, target_time_scale=, bundled_input_index=, run_output=,
            reference_output=)
        EventBlock.to_dataframe(include_units=, include_delegate_debug_data=)
        PerfData(raw)
    """,
    "executorch.devtools.pte_tool.diff_pte": """
        ExecutionPlanDiff(plan_index, name_a=, name_b=, operators_only_in_a=, operators_only_in_b=,
            delegates_only_in_a=, delegates_only_in_b=, non_const_buffer_sizes_a=, non_const_buffer_sizes_b=,
            value_count_a=, value_count_b=, instruction_count_a=, instruction_count_b=, tensor_diffs=, evalue_diffs=,
            tensors_only_in_a=, tensors_only_in_b=)
    """,
    "executorch.examples.models.llama.lora": """
        LoRALinear(in_dim, out_dim, rank, alpha, dropout=, use_bias=)
        LoRALinear.forward(x, lora_a=, lora_b=)
    """,
    "executorch.examples.models.llama.source_transformation.custom_kv_cache": """
        CustomKVCache(max_batch_size, max_context_length, n_heads, head_dim, dtype=)
        CustomKVCache.update(input_pos, k_val, v_val, indices=)
        CustomRingKVCache(max_batch_size, max_context_length, n_heads, head_dim, dtype=)
        CustomRingKVCache.create_causal_mask_for_ring_buffer(start_pos, seq_len)
        CustomRingKVCache.from_custom_kv_cache(kv_cache, sliding_window_size)
        CustomRingKVCache.update(input_pos, k_val, v_val)
        QuantizedKVCache(max_batch_size, max_context_length, n_heads, head_dim, cache_type=,
            use_custom_update_cache_op=, return_float_values=)
        QuantizedKVCache.from_float(kv_cache, cache_type, use_custom_update_cache_op=)
        QuantizedKVCache.update(input_pos, k_val, v_val, indices=)
    """,
    "executorch.examples.models.llama.source_transformation.sdpa": """
        QuantizedSDPA.forward(input_pos, q, k_quantized, v_quantized, bsz, seqlen, mask)
    """,
    "executorch.examples.models.model_factory": """
        EagerModelFactory.create_model(module_name, model_class_name)
    """,
    "executorch.exir": """
        EdgeCompileConfig(_check_ir_validity=, _skip_dim_order=, _core_aten_ops_exception_list=, preserve_ops=)
        EdgeProgramManager(edge_programs, constant_methods=, compile_config=, core_aten_ops_exception_list=,
            preserve_ops=)
        EdgeProgramManager.exported_program(method_name=)
        EdgeProgramManager.to_backend(partitioner)
        EdgeProgramManager.to_executorch(config=)
        EdgeProgramManager.transform(passes, compile_config=)
        ExecutorchBackendConfig(passes=, memory_planning_pass=, propagate_device_config=, to_out_var_pass=,
            dynamic_memory_planning_mode=, emit_stacktrace=, extract_delegate_segments=, segment_alignment=,
            constant_tensor_alignment=, delegate_alignment=, sym_shape_eval_pass=, remove_view_copy=,
            external_constants=, external_mutable_weights=, emit_mutable_buffer_names=,
            do_quant_fusion_and_const_prop=, run_reinplace_pass=, enable_non_cpu_memory_planning=,
            reinplace_extra_ops=)
        ExecutorchProgramManager(execution_programs, config_methods=, backend_config=, named_data=)
        ExecutorchProgramManager.dump_executorch_program(verbose=, out=)
        ExecutorchProgramManager.exported_program(method_name=)
        ExecutorchProgramManager.get_etrecord()
        ExecutorchProgramManager.save(path)
        ExecutorchProgramManager.write_tensor_data_to_file(outdir)
        ExecutorchProgramManager.write_to_file(open_file)
        emit_program(methods, emit_stacktrace=, prim_getters=, emit_mutable_buffer_names=)
        load(f, *, extra_files=)
        save(ep_save, f, *, extra_files=, opset_version=)
        to_edge(programs, constant_methods=, compile_config=, generate_etrecord=)
        to_edge_transform_and_lower(programs, transform_passes=, partitioner=, constant_methods=, compile_config=,
            generate_etrecord=)
    """,
    "executorch.exir._serialize._cord": """
        Cord(data=)
        Cord.append(data)
        Cord.write_to_file(outfile)
    """,
    "executorch.exir.backend.backend_details": """
        BackendDetails.preprocess(edge_program, compile_specs)
        BackendDetails.preprocess_multimethod(edge_programs, compile_specs)
        PreprocessResult(processed_bytes=, debug_handle_map=, data_store_output=, _delegate_info_meta=)
    """,
    "executorch.exir.backend.canonical_partitioners.config_partitioner": """
        ConfigerationBasedPartitioner(delegation_spec, partitioner_configs)
        ConfigerationBasedPartitioner.ops_to_not_decompose(ep)
        ConfigerationBasedPartitioner.partition(exported_program)
    """,
    "executorch.exir.backend.canonical_partitioners.duplicate_dequant_node_pass": """
        DuplicateDequantNodePass.call(mod)
    """,
    "executorch.exir.backend.canonical_partitioners.pattern_op_partitioner": """
        generate_partitions_from_list_of_nodes(graph_module, pattern_list=, op_support=)
        generate_pattern_op_partitions(graph_module, patterns=, partitions_list=, op_support=, ignore_literals=)
    """,
    "executorch.exir.backend.compile_spec_schema": """
        CompileSpec(key, value)
    """,
    "executorch.exir.backend.partitioner": """
        DelegationSpec(backend_id, compile_specs)
        PartitionResult(tagged_exported_program, partition_tags)
        Partitioner(spec=)
        Partitioner.ops_to_not_decompose(ep)
        Partitioner.partition(exported_program)
    """,
    "executorch.exir.backend.utils": """
        format_delegated_graph(graph_module)
        get_delegates(graph)
        print_delegated_graph(graph_module)
        tag_constant_data(edge_program)
        tag_mutated_buffer(edge_program)
    """,
    "executorch.exir.control_flow": """
        while_loop(cond_fn, body_fn, init_val)
    """,
    "executorch.exir.error": """
        internal_assert(pred, assert_msg)
    """,
    "executorch.exir.lowered_backend_module": """
        LoweredBackendModule(edge_program, backend_id, processed_bytes, compile_specs, named_data_store_output=)
        LoweredBackendModule.buffer(extract_delegate_segments=, segment_alignment=, constant_tensor_alignment=,
            delegate_alignment=, memory_planning=)
        LoweredBackendModule.program(emit_stacktrace=, memory_planning=)
    """,
    "executorch.exir.memory_planning": """
        MemoryPlanningAlgorithmSuite(algo_list=)
        Verifier(graph_module, alloc_graph_input, alloc_graph_output, alloc_mutable_buffers, graph_signature=)
        Verifier.has_overlap(lhs_ivl, rhs_ivl)
        Verifier.lifetime_overlap(lhs_spec, rhs_spec)
        Verifier.storage_overlap(lhs_spec, rhs_spec)
        Verifier.verify_storage_reuse(allow_lifetime_and_storage_overlap=)
        collect_specs_from_nodes(nodes, graph_signature=, ignore_graph_input=, ignore_graph_output=,
            ignore_mutable_buffers=, ignore_const=, ignore_out_var_node=, dedup=, do_assertion=,
            ignore_dynamic_unbound_tensor=)
        get_node_tensor_specs(node)
        greedy(alignment, specs, graph_module, graph_signature, extra_padding=, *, allow_overlapping_allocations=)
        naive(alignment, specs, graph_module, graph_signature, extra_padding)
        insert_calls_to_free(graph_module, allspecs)
    """,
    "executorch.exir.pass_base": """
        ExportPass.call(graph_module)
        ExportPass.call_cond(pred, true_fn, false_fn, inputs, meta)
        ExportPass.call_delegate(lowered_module, args, kwargs, meta)
        ExportPass.call_getitem(value, key, meta)
        ExportPass.call_map(f, mapped_args, operands, meta)
        ExportPass.call_operator(op, args, kwargs, meta)
        ExportPass.call_scan(combine_fn, init, xs, additional_inputs, meta)
        ExportPass.call_submodule(graph_module, inputs)
        ExportPass.call_sym(target, args, meta)
        ExportPass.call_while(cond_fn, body_fn, carried_inputs, additional_inputs, meta)
        ExportPass.inputs(graph_module)
        ExportPass.on_attr(attr)
        ExportPass.output(results, meta)
        ExportPass.placeholder(name, arg, meta)
        NodeMetadata(data)
        NodeMetadata.copy()
        ProxyValue(data, proxy)
        ProxyValue.is_tensor()
        ProxyValue.to_tensor()
        map_args(op, fn, args, kwargs)
    """,
    "executorch.exir.passes": """
        MemoryPlanningPass(memory_planning_algo=, allow_lifetime_and_storage_overlap=, alloc_graph_input=,
            alloc_graph_output=, alloc_mutable_buffers=, share_mutable_buffers=, alignment=)
        MemoryPlanningPass.call(graph_module)
        MemoryPlanningPass.run(graph_module, graph_signature=)
        MemoryPlanningPass.run_multimethod()
        SpecPropPass()
        SpecPropPass.update_placeholder_tensor_specs(exported_program, graph_module)
        ToOutVarPass(ignore_to_out_var_failure=)
        ToOutVarPass.call(graph_module)
    """,
    "executorch.exir.passes.quantize_io_pass": """
        QuantizeInputs(edge_program_manager, quantized_inputs_idx, method_name=, exported_program=)
        QuantizeOutputs(edge_program_manager, quantized_outputs_idx_list, method_name=, exported_program=)
    """,
    "executorch.exir.passes.replace_aten_with_edge_pass": """
        aten_to_edge(aten_op)
    """,
    "executorch.exir.passes.spec_prop_pass": """
        make_spec(x)
    """,
    "executorch.exir.program._program": """
        transform_exported_program(ep)
    """,
    "executorch.exir.tensor": """
        TensorSpec(dtype, shape, layout=, is_sparse=, const=, requires_grad=, extra_tensor_info=)
        TensorSpec.from_tensor(tensor, const=)
        TensorSpec.nbytes()
        TensorSpec.realign(new_alignment)
        make_allocation_info(mem_id, mem_offset)
        get_scalar_type(enum)
    """,
    "executorch.export": """
        ExportRecipe(name=, quantization_recipe=, aten_transform_passes=, lowering_recipe=,
            executorch_backend_config=, pipeline_stages=, mode=, strict=)
        ExportRecipe.combine(recipes, recipe_name=)
        ExportRecipe.get_recipe(recipe)
        ExportSession(model, example_inputs=, export_recipe=, name=, dynamic_shapes=, constant_methods=,
            artifact_dir=, generate_etrecord=)
        ExportSession.export()
        ExportSession.get_all_registered_stages()
        ExportSession.get_edge_program_manager()
        ExportSession.get_etrecord()
        ExportSession.get_example_input(method_name=)
        ExportSession.get_executorch_program()
        ExportSession.get_executorch_program_manager()
        ExportSession.get_exported_program(method_name=)
        ExportSession.get_pte_buffer()
        ExportSession.get_registered_stage(stage_type)
        ExportSession.get_stage_artifacts()
        ExportSession.print_delegation_info()
        ExportSession.register_stage(stage_type, stage)
        ExportSession.run_method(method_name=, example_inputs=)
        ExportSession.save_to_pte(output_name)
        LoweringRecipe(partitioners=, edge_transform_passes=, edge_manager_transform_passes=, edge_compile_config=)
        QuantizationRecipe(quantizers=, ao_quantization_configs=)
        export(model, example_inputs=, export_recipe=, name=, dynamic_shapes=, constant_methods=, artifact_dir=,
            generate_etrecord=)
    """,
    "executorch.export.export": """
        ExportSession(model, example_inputs=, export_recipe=, name=, dynamic_shapes=, constant_methods=,
            artifact_dir=, generate_etrecord=)
    """,
    "executorch.extension.export_util.utils": """
        export_to_edge(model, example_inputs, *, example_kwarg_inputs=, dynamic_shapes=, edge_constant_methods=,
            edge_compile_config=, strict=, verbose=)
        export_to_exec_prog(model, example_inputs, *, example_kwarg_inputs=, dynamic_shapes=, edge_constant_methods=,
            edge_compile_config=, backend_config=, strict=)
        save_pte_program(prog, model_name, output_dir=)
    """,
    "executorch.extension.llm.custom_ops.custom_ops": """
        custom_sdpa(query, key_cache, value_cache, start_pos, attn_mask=, drpout_p=, is_causal=, scale=)
    """,
    "executorch.extension.llm.export.builder": """
        LLMEdgeManager(model, modelname, max_seq_len, use_kv_cache, example_inputs, dtype=, example_kwarg_inputs=,
            enable_dynamic_shape=, generate_full_logits=, calibration_tasks=, calibration_limit=,
            calibration_seq_length=, calibration_data=, tokenizer_path=, verbose=, metadata=, dynamic_shapes=,
            save_exported_program=, generate_etrecord=, skip_dim_order=)
        LLMEdgeManager.export()
        LLMEdgeManager.export_to_edge()
        LLMEdgeManager.get_saved_pte_filename()
        LLMEdgeManager.pt2e_quantize(quantizers)
        LLMEdgeManager.run_canonical_optimizations()
        LLMEdgeManager.save_to_pte(output_name)
        LLMEdgeManager.set_output_dir(output_dir)
        LLMEdgeManager.source_transform(transforms)
        LLMEdgeManager.to_backend(partitioners)
        LLMEdgeManager.to_dtype(dtype_override)
        LLMEdgeManager.to_edge_transform_and_lower(partitioners, transform_passes=)
        LLMEdgeManager.to_executorch(passes=, external_constants_tag=, share_mutable_buffers=)
    """,
    "executorch.extension.llm.export.quantize": """
        quantize_model_(module, qlinear_config=, qlinear_group_size=, qlinear_packing_format=, qembedding_config=,
            qembedding_group_size=, tie_word_embeddings=, skip_incompatible_shapes=)
    """,
    "executorch.extension.llm.export.quantizer_lib": """
        PT2EQuantOptions(quantize_embedding=, quantize_linear=)
    """,
    "executorch.runtime": """
        Method.execute(inputs)
        Program.load_method(name)
        Program.metadata(method_name)
        Program.write_etdump_result_to_file(etdump_path, debug_buffer_path)
        Runtime.get()
        Runtime.load_program(data, *, verification=, enable_etdump=, debug_buffer_size=)
    """,
}
_ROWS = [
    (module, *re.fullmatch(r"(\S+?)\((.*)\)", row).groups())  # type: ignore[union-attr]
    for module, rows in _DOCUMENTED.items()
    for row in re.findall(r"\S+?\([^)]*\)", re.sub(r"\s+", " ", rows))
]
_VARIADIC = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)
_POSITIONAL = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)


def _parameters(callee: Any, is_member: bool) -> list[Parameter]:
    parameters = list(inspect.signature(callee).parameters.values())
    return parameters[1:] if is_member and parameters and parameters[0].name == "self" else parameters


@pytest.mark.parametrize(("module", "name", "documented"), _ROWS, ids=[f"{row[0]}.{row[1]}" for row in _ROWS])
def test_documented_parameters_come_first_and_the_others_are_optional(module: str, name: str, documented: str) -> None:
    callee = reduce(getattr, name.split("."), importlib.import_module(module))
    found = _parameters(callee, is_member="." in name)
    by_position, _, by_name = documented.partition("*, ")
    expected = [item for item in by_position.split(", ") if item]
    named = [item for item in by_name.split(", ") if item]
    positional = [item for item in found if item.kind in _POSITIONAL]
    assert [item.name for item in positional[: len(expected)]] == [item.rstrip("=") for item in expected]
    assert {item.rstrip("=") for item in named} <= {item.name for item in found}
    needed = {item for item in expected + named if not item.endswith("=")}
    required = {item.name for item in found if item.default is Parameter.empty and item.kind not in _VARIADIC}
    assert required <= needed
