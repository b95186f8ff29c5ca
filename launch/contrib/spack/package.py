# NOT TESTED: see ../README.md. Put it into packages/cambrian/ of a Spack repository; `version` needs a release to point to.
from spack.package import *


class Cambrian(CMakePackage):
    """Evolves neural networks, on one rank or many, and trains them."""

    git = "file:///path/to/cambrian"
    version("main", branch="main")

    variant("mpi", default=True, description="Runs of many ranks")
    variant("vulkan", default=True, description="Evaluation on GPUs")

    depends_on("cmake@3.25:", type="build")
    depends_on("ninja", type="build")
    depends_on("openmpi@4:", when="+mpi")
    depends_on("vulkan-loader", when="+vulkan")
    depends_on("vulkan-headers", when="+vulkan")
    depends_on("volk", when="+vulkan")
    depends_on("glslang", when="+vulkan")
    for library in ("cereal", "nlohmann-json", "cli11", "spdlog", "fmt", "xxhash", "zstd", "zlib", "jemalloc", "cpp-httplib"):
        depends_on(library)

    def cmake_args(self):
        return [
            self.define_from_variant("CAMBRIAN_MPI", "mpi"),
            self.define_from_variant("CAMBRIAN_VULKAN", "vulkan"),
            self.define("CAMBRIAN_TESTS", False),
            self.define("CAMBRIAN_BENCHMARKS", False),
        ]
