"""What a function that a model wrote may name beyond what the user's own text names: lists of what is needed, not of what is feared.

Everything else is refused: a list of bad names is never complete, and a refused good name costs one more turn. Left out on purpose:
``tl.inline_asm_elementwise`` (writes where it likes, and the interpreter can't run it), ``tl.device_print``, ``triton.set_allocator``
(global state), streams, and torch's computations (a library call in place of the kernel isn't a faster version of the kernel).
"""

from __future__ import annotations


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


#: Functions and types of triton.language, over all versions that are supported.
LANGUAGE = _names(
    """
    PropagateNan abs add advance arange argmax argmin associative_scan assume atomic_add atomic_and atomic_cas atomic_max atomic_min
    atomic_or atomic_xchg atomic_xor bfloat16 broadcast broadcast_to cast cat cdiv ceil clamp const constexpr cos cumprod cumsum
    debug_barrier device_assert div_rn dot dot_scaled dtype erf exp exp2 expand_dims fdiv flip float16 float32 float64 float8e4b15
    float8e4b8 float8e4nv float8e5 float8e5b16 floor fma full gather histogram int1 int16 int32 int64 int8 interleave join load
    load_tensor_descriptor log log2 make_block_ptr make_tensor_descriptor max max_constancy max_contiguous maximum min minimum mul
    multiple_of num_programs permute philox pi32_t pointer_type program_id rand rand4x randint randint4x randn randn4x range ravel
    reduce reshape rsqrt sigmoid sin softmax sort split sqrt sqrt_rn squeeze static_assert static_range store store_tensor_descriptor
    sub sum swizzle2d tensor tensor_descriptor topk trans uint16 uint32 uint64 uint8 umulhi unsqueeze view void where xor_sum zeros
    zeros_like
    """
)
MATH = _names("abs ceil cos div_rn erf exp exp2 fdiv floor fma log log2 rsqrt sin sqrt sqrt_rn umulhi")
LIBDEVICE = _names(
    """
    abs acos acosh asin asinh atan atan2 atanh cbrt ceil clz copysign cos cosh cospi div_rn div_rz erf erfc erfinv exp exp10 exp2 expm1
    fast_dividef fast_expf fast_exp10f fast_log2f fast_logf fast_log10f fast_powf fast_sinf fast_cosf fast_tanf fast_tanhf fdim ffs
    finitef float_as_int floor fma fmod hypot ilogb int_as_float isinf isnan ldexp lgamma llrint llround log log10 log1p log2 logb mulhi
    nearbyint norm3d norm4d popc pow rcbrt rcp_rn rcp64h remainder rhypot rint round rsqrt rsqrt_rn saturatef signbit sin sinh sinpi
    sqrt sqrt_rn tan tanh tgamma trunc
    """
)
TORCH = _names(
    """
    Size Tensor bfloat16 bool device dtype empty empty_like empty_strided finfo float float16 float32 float64 float8_e4m3fn float8_e5m2
    full full_like half iinfo int int16 int32 int64 int8 is_tensor long ones ones_like promote_types result_type uint8 zeros zeros_like
    contiguous_format channels_last cuda.current_device cuda.device cuda.get_device_capability cuda.get_device_properties
    cuda.is_available version.hip
    """
)
TRITON = _names("Config autotune cdiv heuristics jit next_power_of_2 tools.tensor_descriptor.TensorDescriptor")
PLAIN = frozenset({"math", "itertools"})  # modules of the standard library without effects

#: Dotted names by what an import makes of them; ``math.sqrt`` and the like are let through by ``PLAIN``.
DOTTED = frozenset(
    {f"triton.language.{n}" for n in LANGUAGE}
    | {f"triton.language.math.{n}" for n in MATH}
    | {f"triton.language.extra.{where}libdevice.{n}" for n in LIBDEVICE for where in ("", "cuda.", "hip.")}
    | {f"torch.{n}" for n in TORCH}
    | {f"triton.{n}" for n in TRITON}
)
BUILTINS = _names(
    """
    abs all any bool dict divmod enumerate filter float int isinstance len list map max min pow range reversed round set slice sorted
    str sum tuple zip ArithmeticError AssertionError IndexError KeyError NotImplementedError RuntimeError TypeError ValueError
    """
)
#: Attributes of values: of tensors and containers in host functions, of Triton's tensors and descriptors in kernels.
HOST_ATTRIBUTES = _names(
    """
    T append contiguous data device dim dtype element_size expand extend fill_ flatten from_tensor get insert is_contiguous is_cuda
    is_fp8 index is_floating_point itemsize items keys layout major max min minor multi_processor_count mT name ndim ndimension
    new_empty new_zeros numel permute pop requires_grad reshape run setdefault shape size squeeze storage_offset stride strides t to
    total_memory transpose type unflatten unsqueeze update values view view_as warmup zero_ bit_length is_integer bits
    shared_memory_per_block_optin nbytes L2_cache_size warp_size
    """
)
KERNEL_ATTRIBUTES = (
    LANGUAGE
    | _names(
        """
    T element_ty is_block is_floating is_fp8 is_int is_ptr gather numel primitive_bitwidth scalar scatter shape to type value
    block_shape atomic_add item is_bf16 is_fp16 is_fp32 is_floating_point int_bitwidth
    """
    )
) - {"device_assert", "static_assert", "static_print"}

#: Options of a launch or configuration that only say how to compile.
OPTIONS = _names(
    """
    num_warps num_stages num_ctas maxnreg grid warmup waves_per_eu matrix_instr_nonkdim kpack enable_fp_fusion
    """
)
JIT_OPTIONS = frozenset({"do_not_specialize", "do_not_specialize_on_alignment", "noinline"})
AUTOTUNE_OPTIONS = frozenset({"configs", "key", "restore_value", "reset_to_zero"})

#: Attributes that are numbers or types, not memory: whoever reads them learns nothing of what a tensor holds.
FACTS = _names(
    """
    dim device dtype element_size element_ty index is_contiguous is_cuda is_floating_point is_fp8 itemsize layout major max_grid_size minor
    multi_processor_count nbytes ndim ndimension numel primitive_bitwidth requires_grad shape size storage_offset stride strides type
    bit_length is_integer bits shared_memory_per_block_optin L2_cache_size total_memory warp_size data_ptr
    """
)
#: Of those, what only tensors have.
OF_TENSORS = _names("contiguous dim element_size expand is_contiguous is_cuda ndim numel reshape shape stride view")
MAKERS = _names("empty empty_like empty_strided full full_like new_empty new_zeros ones ones_like zeros zeros_like")
NUMBERS = _names("abs bool divmod float int isinstance len pow range round slice str triton.cdiv triton.next_power_of_2")
#: Methods that change what they are called on; tensors' end with an underscore.
MUTATORS = _names(
    """
    add append appendleft cache_clear clear discard extend insert move_to_end pop popitem popleft remove reverse setdefault sort update
    """
)
#: What tells where memory lies or whether it was touched, never what it holds.
IDENTITY = _names("_base _cdata _version data_ptr id hash is_set_to storage untyped_storage")
#: Beginnings of what changes or tells the state of the process and the device: only as the user's own text has it.
SURROUNDINGS = ("torch.cuda.", "torch.utils.", "torch.backends.", "torch.autograd.", "torch.library.", "torch.random.", "torch._")
#: What reads the elements of a tensor, called on one.
READERS = _names("abs all any bool divmod float int max min pow range round set sorted str sum")
#: Attributes that aren't sizes, whatever they are of.
NO_SIZES = _names(
    """
    bits dim device dtype element_size element_ty is_block is_contiguous is_cuda is_floating is_floating_point is_fp8 itemsize layout load
    major minor multi_processor_count ndim ndimension primitive_bitwidth requires_grad type L2_cache_size total_memory warp_size
    shared_memory_per_block_optin
    """
)
