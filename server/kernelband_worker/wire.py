"""The words that engine and worker exchange: JSON-RPC 2.0 with ``Content-Length`` frames, and these JSON objects.

Both sides import this file, so a word is spelled once. Standard library only, Python >= 3.9.
Units are in the names: ``_us`` microseconds on the device or per call, ``_s`` seconds of wall time, ``_bytes`` bytes.
All lists are in a stable order. Every id is a lower-case hex SHA-256 or a prefix of one.

Engine -> supervisor (requests)
    initialize        InitializeParams -> Hello
    executor/start    StartParams -> {}          a fresh process; replaces one of the same name
    executor/stop     {"name"} -> {}             kills the executor's whole process group
    executor/call     CallParams -> the result of the operation
    shutdown          {} -> {}
Supervisor -> engine (notifications)
    log               LogParams                  what the user's program or an executor printed
    heartbeat         {}                         every ``heartbeat_s``; the engine's side of it is end of input
    lock/waiting      LockWaiting                another process measures on this GPU
    progress          Progress                   an executor's word about a long operation
Supervisor -> engine (requests, on behalf of an executor)
    module/find       FindModule -> ModuleFile | None
    module/names      {} -> {"names"}            as ``top_level`` of a session, by what is known now
    blob/get          {"sha256"} -> {"base64"}   file content by hash; cached by the supervisor

Operations of an executor (``CallParams.operation``), each in a file of its own:
    environment       {} -> Environment
    session/open      SessionParams -> {}
    capture           CaptureParams -> CaptureResult
    variant/load      VariantFiles -> {}
    import            ImportParams -> {}
    specialise        SpecialiseParams -> SpecialiseResult
    compile           CompileParams -> CompileFacts
    traffic           TrafficParams -> TrafficResult
    check             CheckParams -> CheckResult
    time              TimeParams -> TimeResult
    prepare           PrepareParams -> {}
    survey            SurveyParams -> SurveyResult
    turn              TurnParams -> TurnResult
    reveal            RevealParams -> RevealResult
    referee           RefereeParams -> CaseCheck
    profile           ProfileParams -> ProfileResult
    entry/run         EntryRunParams -> EntryRunResult
"""

from __future__ import annotations

from typing import Any, Dict, List, Literal, Optional, Tuple, TypedDict

PROTOCOL = 1
Numerics = Literal["exact", "reassociates", "lowers_precision"]
NUMERICS: Tuple[Numerics, ...] = ("exact", "reassociates", "lowers_precision")  # the strictest first
SCRATCH = "KERNELBAND_SCRATCH"  # in the environment of a worker's processes: its own folder, which goes with it
NICE = "KERNELBAND_NICE"  # in the environment of an executor that gives way to other processes: by how much
#: Between the real path and the first digits of the variant's id, in ``co_filename`` of edited files only: two texts of one path
#: live in one process, and ``linecache`` knows files by name. Not a part of any key of Triton's caches.
EDITED_MARK = "#kb-"
THREADS = "KERNELBAND_THREADS"  # on how many threads an executor's libraries may compute, if not on as many as they like

# JSON-RPC error codes of the worker; ``data`` is ErrorData.
OPERATION_FAILED = -32001  # a sentence for the user; the executor lives on
EXECUTOR_TIMEOUT = -32002  # the deadline passed; its group was killed
EXECUTOR_DIED = -32003  # it exited, or CUDA is unusable in it; its group was killed
EXECUTOR_MISSING = -32004  # no executor of that name is running

#: ErrorData.kind of OPERATION_FAILED: what went wrong, in a word that code can branch on.
ERROR_KINDS = (
    "torch_missing",
    "triton_missing",
    "too_old",
    "no_gpu",
    "import_failed",
    "entry_failed",
    "never_launches",
    "generated",  # it is called by a kernel whose text the program writes
    "not_replayable",
    "compile_error",
    "out_of_memory",
    "unsupported",
    "bad_request",
    "internal",
)


class ErrorData(TypedDict, total=False):
    kind: str  # one of ERROR_KINDS
    detail: str  # the program's own error text or traceback tail, for showing under the sentence
    path: str
    line: int
    tail: str  # the last lines that the executor printed
    signal: int  # for EXECUTOR_DIED
    exit_code: int


# ---------------------------------------------------------------- supervisor


class InitializeParams(TypedDict):
    protocol: int
    heartbeat_s: float


class Hello(TypedDict):
    protocol: int
    python: str  # "3.12.3"
    executable: str
    platform: str  # sys.platform
    host: str
    user: str
    pid: int
    cpus: int
    scratch: str  # a private folder on the worker's machine; removed when the supervisor leaves


class StartParams(TypedDict, total=False):
    name: str
    role: str  # "gpu" | "cpu" | "compile"
    gpu: int  # index for role gpu; the executor sees only this one
    environment: Dict[str, str]  # added to the scrubbed environment


class CallParams(TypedDict, total=False):
    name: str
    operation: str
    params: Dict[str, Any]
    deadline_s: float
    lock: Optional[str]  # UUID of the GPU whose measuring lock is held during the call
    shared: bool  # other calls of this worker that say so too may hold that lock at the same time


class LogParams(TypedDict):
    executor: str
    text: str


class LockWaiting(TypedDict):
    gpu: str
    holder: str  # "user@host pid 123: kernelband run 7f3a"
    waited_s: float


class Progress(TypedDict):
    executor: str
    text: str


class FindModule(TypedDict):
    name: str  # dotted, absolute


class ModuleFile(TypedDict):
    name: str
    path: str  # the real path (of __init__.py for a package); of the folder for a namespace package
    package: bool
    sha256: Optional[str]  # None: a namespace package


# ---------------------------------------------------------------- executor: environment and session


class Gpu(TypedDict):
    index: int
    uuid: str
    name: str
    capability: List[int]  # [9, 0]
    multiprocessors: int
    memory_bytes: int
    free_bytes: int
    l2_bytes: int
    shared_limit_bytes: int  # opt-in maximum of a program
    registers: int  # per multiprocessor
    clock_khz: int
    memory_clock_khz: int
    processes: List[str]  # "user pid name MiB" of others on this GPU


class _EnvironmentMore(TypedDict, total=False):
    #: Paths of programs, None where there is none: "cc" (on a GPU, Triton builds its launcher with it), "nvidia-smi", "ncu", "nsys".
    tools: Dict[str, Optional[str]]


class Environment(_EnvironmentMore):
    python: str
    torch: str
    triton: str
    numpy: Optional[str]
    cuda: Optional[str]  # torch.version.cuda
    driver: Optional[str]
    ptxas: Optional[str]
    settings: Dict[str, str]  # TRITON_* of the environment
    gpus: List[Gpu]


class Target(TypedDict):
    backend: str  # "cuda" | "hip"
    arch: Any  # 90 | "gfx942"
    warp_size: int


class _SessionParamsMore(TypedDict, total=False):
    store: str  # folder under Hello.scratch for recorded cases, shared by the executors of a run
    cache: str  # folder for Triton's compile cache of the run
    seed: int
    tuning: str  # role gpu: "all": all configurations of a variant's autotuner compete; else those that are new, and the original's choice
    target: Target  # for roles cpu and compile: what is specialised for
    device_properties: Dict[str, int]  # for roles cpu and compile: what the driver reports of the target
    device_name: str  # for the same: "NVIDIA H200"; projects choose their backend by it


class SessionParams(_SessionParamsMore):
    """What a fresh executor must know to load the user's code. Files come by ``module/find`` and ``blob/get``."""

    id: str
    top_level: List[str]  # first components of module names that the workspace serves


class ImportParams(TypedDict):
    """Modules of the user's that are imported ahead of the operation that needs them."""

    modules: List[str]


class Function(TypedDict):
    """A function of the user's, by place: ``module:qualname``, ``<locals>`` included as in Python."""

    module: str
    path: str
    qualname: str


class Entry(TypedDict):
    """What is run to see the kernel at work."""

    kind: str  # "callable" | "pytest" | "script"
    module: str
    path: str
    name: str  # qualname, pytest node id after the file, or "__main__"


# ---------------------------------------------------------------- executor: cases


class CaptureParams(TypedDict, total=False):
    entry: Entry
    kernel: Function
    hosts: List[Function]  # host functions known to launch it, innermost first
    seconds: float  # cap for each run of the entry, until something is recorded; importing its module is left aside
    at_most_s: float  # that with importing; as many unless said
    within_s: float  # for all of it: what is recorded and replayed by then must do
    distinct_cases: int  # stop there
    input_sets: int
    programs: int  # role cpu: at most so many sampled programs per launch
    sizes: Optional[Entry]  # also run once, for cases of larger sizes than those of the entry
    neighbours: bool  # also make cases of neighbouring sizes, for checking only; true unless said


class TensorFacts(TypedDict):
    name: str  # "x", "args[0]", "self.weight"
    shape: List[int]
    stride: List[int]
    dtype: str  # "float32"
    device: str  # "cuda" | "cpu"
    storage: int  # equal numbers alias
    offset: int
    requires_grad: bool
    policy: str  # "recorded" | "rederived" | "drawn"
    mutated: bool


class _LineTrafficMore(TypedDict, total=False):
    moved_bytes: int  # there, by the whole grid


class LineTraffic(_LineTrafficMore):
    """One load or store of the source, as the interpreter saw it over the sampled programs."""

    path: str
    line: int
    kind: str  # "load" | "store"
    masked: bool
    mask_always_true: bool  # it never hid an element
    sectors_ratio: float  # 32-byte sectors touched over the fewest possible; 1 is fully coalesced


class _LaunchFactsMore(TypedDict, total=False):
    lines: List[LineTraffic]  # from the interpreter
    arithmetic: Optional[int]  # instructions of one lane on floats outside products and functions (cpu/traffic.py); old runs have none
    functions: Optional[Dict[str, int]]  # evaluations by name, "exp", "exp2", "div", "libdevice.tanh"; old runs have none
    unique_bytes: Optional[int]  # loaded and stored, each element counted once: what memory must move at least
    guessed_bytes: Optional[int]  # loaded and stored as far as a few programs tell, also where they differ: for weights, never a claim
    callers: List[Function]  # functions of the workspace on the stack, the innermost first; old runs have none


class LaunchFacts(_LaunchFactsMore):
    """One launch, in order, as the device got it."""

    kernel: Function
    specialization: str  # key of signature, constants, attributes and options
    grid: List[int]
    num_warps: int
    num_stages: int
    num_ctas: int
    constants: Dict[str, Any]  # constexpr arguments by name
    scalars: Dict[str, Any]  # run-time numbers by name
    tensors: Dict[str, TensorFacts]  # pointer arguments by name
    config: Optional[Dict[str, Any]]  # the autotuner's choice; the original is pinned to it from then on
    target: bool  # launches the kernel that is optimized
    loads_bytes: Optional[int]  # from the interpreter, scaled from sampled programs to the grid
    stores_bytes: Optional[int]
    flops: Optional[int]
    dot_flops: Optional[int]
    sectors_per_request: Optional[float]  # 32-byte sectors touched per warp-wide access over the fewest possible


class _CaseMore(TypedDict, total=False):
    aliases: Dict[str, Optional[str]]  # by output: the argument or earlier output whose memory it shares, None for its own
    outer: Optional[Function]  # the workspace function that made the call: one frame out, where this one can't be replayed
    target_share: Optional[float]  # of the call's device time spent in the kernel that is optimized; from the profiler, with a GPU
    shares: Dict[str, float]  # the same by Triton kernel, by the last part of its name
    replay_s: float  # wall time of a replay of the original at capture
    beside: bool  # on a GPU: results of the original hang on what lies outside of its tensors


class Case(_CaseMore):
    id: str
    boundary: str  # "host_call" | "launch"
    function: Function
    source_hash: str
    call_index: int
    role: str  # "check" | "time" | "held_out"
    neighbour_of: Optional[str]  # made from that case, for checking only
    arguments: str  # one line for people: "x: float32[4096, 781], eps: 1e-05"
    tensors: List[TensorFacts]
    constants: Dict[str, Any]  # numbers, strings, None by argument name
    outputs: List[str]  # "return", "return[1]", "out (mutated)"
    launches: List[LaunchFacts]
    other_kernels: List[str]  # device work that is not Triton
    calls: int
    share: Optional[float]  # of the entry's device time; None when not measured
    compulsory_bytes: Optional[int]  # every input and output element moved once; None when access depends on data
    memory_bytes: int  # two input sets and outputs
    reads_rng: bool
    input_sets: int
    noise: float  # largest difference of two runs of the original over the output's RMS; 0 when bitwise equal
    device_us: Optional[float]  # of the original at capture; None without a GPU
    replayable: bool
    reason: Optional[str]  # why not


class CaptureResult(TypedDict):
    cases: List[Case]
    out_of_bounds: List[Dict[str, Any]]  # {"path", "line", "message"} found by the interpreter's guard
    functions_reached: List[Function]  # workspace functions on the stack of a launch
    output: str  # tail of what the program printed
    seconds: float
    truncated: Optional[str]  # why capture stopped early
    notes: List[str]  # sentences for the user: what was passed over, cut down or is too small to measure


# ---------------------------------------------------------------- executor: variants


class VariantFile(TypedDict):
    module: str
    path: str
    sha256: str  # of the variant's text; the engine serves it by blob/get


class VariantFiles(TypedDict):
    id: str
    files: List[VariantFile]


class SpecialiseParams(TypedDict, total=False):
    variant: Optional[str]  # None: the original
    cases: List[str]
    double: bool  # the original on float64 inputs, as checks run it for a reference; cases that have none are left out


class _LaunchSpecMore(TypedDict, total=False):
    target: Target  # what it was specialised for; compile retargets it where CompileParams names another
    aligned: List[str]  # arguments that are known to be multiples of 16 (pointers: 16-byte aligned)
    small: List[str]  # pointer arguments into storages of at most 2 GiB


class LaunchSpec(_LaunchSpecMore):
    """Enough to compile one specialisation in another process."""

    kernel: Function
    key: str  # equal keys compile to the same code
    specialization_data: str  # JSON for JITFunction.preload
    signature: Dict[str, Any]  # "*fp32", "i32"; a list for a tuple
    constants: Dict[str, Any]
    attributes: List[Any]
    options: Dict[str, Any]  # num_warps, num_stages, num_ctas, maxnreg ...
    grid: List[int]
    scalars: Dict[str, Any]
    case: str


class SpecialiseResult(TypedDict):
    launches: List[LaunchSpec]
    #: "module:qualname" -> hash of the syntax tree, for each function of the modules that were reached or edited; "module:" is what stands
    #: outside functions.
    host_hash: Dict[str, str]


class _CompileParamsMore(TypedDict, total=False):
    variant: Optional[str]
    instructions: bool  # also read the machine code (adds 0.3-0.5 s)


class CompileParams(_CompileParamsMore):
    launch: LaunchSpec
    target: Target


class Access(TypedDict):
    opcode: str  # "LDG.E.128"
    space: str  # "global" | "shared" | "local"
    store: bool
    bits: int  # per thread
    count: int
    path: Optional[str]
    line: Optional[int]


class Warning_(TypedDict):  # noqa: N801 - Warning is a builtin
    #: "spills" | "narrow-access" | "uncoalesced" | "mask-always-true" | "wgmma-serialized" | "shared-over-limit" | "threads-over-limit"
    #: | "tensor-memory-over-limit" | "out-of-bounds"
    code: str
    path: str
    line: int
    message: str


class LineCode(TypedDict):
    path: str
    line: int
    instructions: int  # of machine code that stand there, each once however often it runs


class _CompileFactsMore(TypedDict, total=False):
    unusable: Optional[str]  # a sentence: why the device would refuse to launch this code; never launch it then
    lines: List[LineCode]  # most instructions first; empty where ``opcodes`` is, old runs have none


class CompileFacts(_CompileFactsMore):
    kernel: Function
    key: str
    target: Target
    code_hash: str  # machine code without debug information
    registers: Optional[int]  # per thread
    stack_bytes: Optional[int]
    spill_store_bytes: Optional[int]
    spill_load_bytes: Optional[int]
    shared_bytes: int
    num_warps: int
    num_stages: int
    num_ctas: int
    tensor_core: Optional[str]  # "tcgen05" | "wgmma" | "mma" | "mfma"
    opcodes: Dict[str, int]  # machine instructions; empty on NVIDIA without ``instructions``
    accesses: List[Access]  # without ``instructions`` from PTX: same widths and lines, PTX's names
    warnings: List[Warning_]
    seconds: float
    cache_hit: bool


# ---------------------------------------------------------------- executor: check and time


class CheckParams(TypedDict, total=False):
    variant: Optional[str]  # None checks the original against itself
    cases: List[str]
    input_sets: List[int]
    numerics: Numerics
    programs: int  # role cpu
    stress: bool  # when all that passes, also on what no search has seen: other values, numbers and sizes of the smallest cases


class TrafficParams(TypedDict, total=False):
    variant: Optional[str]
    cases: List[str]
    within_s: float  # after which no further case is begun
    programs: int


class TrafficResult(TypedDict):
    launches: Dict[str, List[LaunchFacts]]  # the variant's own, by case id


class OutputCheck(TypedDict):
    name: str
    dtype: str
    shape: List[int]
    wrong: int  # elements outside the tolerance
    total: int
    max_abs: float
    rms: float  # of the original's output
    atol: float
    rtol: float
    error_ratio: Optional[float]  # error against float64 over the original's; None without such a reference


class _CaseCheckMore(TypedDict, total=False):
    comparable: bool  # False: what isn't ok is only what the original itself gives otherwise in each run, which says nothing of the variant


class CaseCheck(_CaseCheckMore):
    case: str
    input_set: int
    ok: bool
    deterministic: bool  # two runs of the variant agree within the case's noise
    reason: Optional[str]  # one sentence when not ok
    outputs: List[OutputCheck]


class StressFacts(TypedDict):
    case: str
    name: str  # "large values"
    used: bool  # the original accepts it, so the variant was compared on it
    why: Optional[str]  # left out: "raises", "not finite", "not deterministic", "unwritten", "out of bounds" ...
    seconds: float  # to try it on the original and to compare the variant


class _CheckResultMore(TypedDict, total=False):
    launches: Dict[str, List[LaunchFacts]]  # the variant's own launches by case id, with their traffic
    stress: List[StressFacts]  # what was tried up to the first that shows the variant wrong, which has a row in ``cases``


class CheckResult(_CheckResultMore):
    cases: List[CaseCheck]
    not_exercised: List[str]  # edited functions that no case reached
    interpreted: bool  # arithmetic and bounds on sampled programs only
    out_of_bounds: List[Dict[str, Any]]  # accesses that reach further outside of a tensor than the original's
    seconds: float


class TimeParams(TypedDict, total=False):
    variant: Optional[str]  # None times the original against itself (A/A)
    cases: List[str]
    pairs: int
    warmup_s: float
    profile: bool  # also measure target_share where it isn't known without a profiler (about a second per executor)


class Pair(TypedDict):
    input_set: int
    original_us: float
    variant_us: float


class _CaseTime(TypedDict):
    case: str
    method: str  # "events" | "wall"
    device: List[Pair]
    call: List[Pair]
    host_us: float  # submission of the original
    target_share: Optional[float]  # of the call's device time spent in the kernel that is optimized
    disturbed: Optional[str]  # clocks, throttling or other processes that changed during the block


class CaseTime(_CaseTime, total=False):
    clocks: List[Dict[str, Any]]  # before and after: sm_mhz, memory_mhz, celsius, reasons (NVML's bits), processes


class TimeResult(TypedDict):
    cases: List[CaseTime]
    seconds: float


class SurveyParams(TypedDict):
    """A first look at one version of the program in a process of its own."""

    variant: Optional[str]  # None: the original. It isn't called in a process that knows a variant
    cases: List[str]
    seed: str  # as in TurnParams


class HideParams(TypedDict):
    """What a check stresses becomes cases that can be called among timed ones."""

    cases: List[str]  # of the check
    sizes: bool  # other sizes, too


class HiddenCase(TypedDict):
    id: str
    name: str  # of the stress


class HideResult(TypedDict):
    cases: List[HiddenCase]
    threads: int  # that run Python code once the original was called on all of them


class TurnCase(TypedDict):
    case: str
    method: str  # "events" | "wall"
    samples: int  # calls that are timed alone, with a cold cache
    batch: int  # calls in a row for the call time; 0: the call time is the wall time of those alone
    sleep_us: float  # the device is kept busy so long, so that a call is submitted before it begins


class TurnParams(TypedDict):
    """One version of the program is timed in a process of its own."""

    variant: Optional[str]  # None: the original. It isn't called in a process that knows a variant
    cases: List[TurnCase]
    seed: str  # nobody knew it before: what the calls get is made of it


class CaseTurn(TypedDict):
    case: str
    device_us: List[float]
    call_us: List[float]


class _TurnResultMore(TypedDict, total=False):
    supervised_s: float  # from request to answer by the supervisor's clock


class TurnResult(_TurnResultMore):
    cases: List[CaseTurn]
    disturbed: Optional[str]  # clocks, throttling or other processes that changed meanwhile
    threads: int  # that run Python code, ours among them
    seconds: float  # all of it by the clock that timed the calls: must agree with the supervisor's


class CaseProbe(TypedDict):
    case: str
    host_us: float
    device_us: float
    wall_us: float
    restore_us: float
    flush_us: float
    synchronises: bool
    long: bool
    buffers: int  # inputs that fit beside each other


class SurveyResult(TypedDict):
    cases: List[CaseProbe]


class RevealParams(TypedDict):
    case: str
    blocks: str  # a secret, 32 hexadecimal digits: decides which parts of large results are given away


class RevealResult(TypedDict):
    """The results of one timed call, which the dice chose when it was over; what they hold lies in the run's folder."""

    seed: str
    k: int
    input_set: int
    outputs: List[str]
    described: List[Dict[str, Any]]
    aliases: Dict[str, Optional[str]]
    leaves: List[List[str]]  # names and values (JSON) of what isn't a tensor


class RefereeParams(TypedDict):
    case: str
    blocks: str
    numerics: Numerics
    result: RevealResult


class PrepareParams(TypedDict, total=False):
    """Everything that the first timed call of a process will wait for: context, modules, inputs, binaries. Needs no more than ``share``."""

    variant: Optional[str]  # None: the original
    cases: List[str]  # none: only the process itself
    open: str  # a case whose part of the user's program is imported, and not called
    share: float  # of the free GPU memory, for inputs and again for results that stay on the device; decided by the first call
    release: bool  # let go of what is kept on the device, first: others need the memory


class _ProfileParamsMore(TypedDict, total=False):
    variant: Optional[str]  # None: the original
    ncu: Optional[str]  # its path (Environment.tools); None: the profiler of torch only
    limit_s: float  # for ncu, which is killed then


class ProfileParams(_ProfileParamsMore):
    """One launch of the kernel that is optimized, watched by a profiler: of a case's first call, once it is warm."""

    case: str


class KernelProfile(TypedDict, total=False):
    """What a profiler saw of one launch. What it didn't see is missing. ``sm``, ``dram``, ``l2``, ``occupancy``: shares from 0 to 1."""

    source: str  # "ncu" | "profiler"
    kernel: str  # qualname
    grid: List[int]
    us: float  # of this kernel alone; under ncu at the clocks of a GPU that was idle before
    sm: float  # throughput over its peak: the busiest unit of the multiprocessors
    dram: float
    l2: float
    occupancy: float  # warps that were there over those that fit
    dram_bytes: float  # read and written
    sectors: Dict[str, float]  # "load", "store": 32-byte sectors per request of a warp
    stalls: Dict[str, float]  # cycles that a warp waits per instruction, by the reason, the worst first


class ProfileResult(TypedDict):
    profiles: List[KernelProfile]  # of the last launch of each target kernel in the call
    note: Optional[str]  # one sentence where ncu was asked for and did not answer
    usable: bool  # ncu may answer another time; false after a refusal or a time-out
    seconds: float


class EntryRunParams(TypedDict, total=False):
    variant: Optional[str]  # loaded under the original's own names
    entry: Entry
    seconds: float
    kernels: List[str]  # module:qualname: what is proven. Tuners of others, in files that aren't edited, take a config untimed


class EntryRunResult(TypedDict):
    ok: bool
    reason: Optional[str]  # why not; or which part of it was run
    output: str
    seconds: float
