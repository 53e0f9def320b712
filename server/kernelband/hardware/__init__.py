"""Device specs, occupancy, roofline, forecast."""

from kernelband.hardware.device import Device as Device
from kernelband.hardware.find import DEFAULT_DEVICE as DEFAULT_DEVICE
from kernelband.hardware.find import Ceilings as Ceilings
from kernelband.hardware.find import driver_properties as driver_properties
from kernelband.hardware.find import find_device as find_device
from kernelband.hardware.find import find_devices as find_devices
from kernelband.hardware.find import from_gpu as from_gpu
