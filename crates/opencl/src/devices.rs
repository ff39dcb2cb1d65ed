//! The OpenCL devices of this machine.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use coarsen_core::{Error, Real};
use coarsen_device::{Device, DeviceBackend, Driver};
use ocl::core::{self, CommandQueue, CommandQueueProperties, DeviceId, DeviceInfo, DeviceType, PlatformInfo};

use crate::OpenClError;
use crate::compile::Programs;
use crate::driver::{self, OpenClDriver};
use crate::error::failed;
use crate::loader::probe;

/// An OpenCL device that can be opened.
struct OpenClDevice {
    id: DeviceId,
    /// What all backends on this device share, made for the first backend: the context, and the queue if they
    /// have no queues of their own.
    shared: Mutex<Option<(core::Context, Option<CommandQueue>)>>,
    /// The programs of this context.
    programs: Arc<Programs>,
}

impl OpenClDevice {
    fn open(&self, device: &Device) -> Result<Box<dyn Driver>, Error> {
        let (context, queue) = self.shared(device)?;
        Ok(Box::new(OpenClDriver::new(context, queue, self.programs.clone(), self.id, device)?))
    }

    /// Returns the context that all backends on this device share, and the queue if they share one.
    ///
    /// The list of devices keeps the context until the process ends, because PoCL 3.1 releases its devices
    /// with the last context, and a thread that queries a device at that time crashes. A shared queue always measures times, since
    /// a [record](coarsen_device::DeviceBackend::record) begins at any time.
    fn shared(&self, device: &Device) -> Result<(core::Context, Option<CommandQueue>), Error> {
        let mut kept = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(shared) = &*kept {
            return Ok(shared.clone());
        }
        let context =
            core::create_context(None, &[self.id], None, None).map_err(failed("clCreateContext"))?;
        let open = || driver::open(&context, self.id, CommandQueueProperties::PROFILING_ENABLE);
        let queue = miscounts_launches(device).then(open).transpose()?;
        Ok(kept.insert((context, queue)).clone())
    }
}

/// Whether several queues at once end the process: PoCL before 6.0 releases another variant of a kernel than the one that it
/// launched, if queues launch this kernel at several sizes.
fn miscounts_launches(device: &Device) -> bool {
    let major = device.driver.split('.').next().and_then(|major| major.parse().ok());
    device.platform == "Portable Computing Language" && major.is_none_or(|major: u32| major < 6)
}

/// Returns all OpenCL devices of this machine, platform by platform, in the order of the drivers.
///
/// One thread queries the drivers, once per process, because PoCL 3.1 reports no devices while another thread
/// initialises them.
///
/// ```
/// match coarsen_opencl::devices() {
///     Ok(devices) => devices.iter().for_each(|d| println!("{d}")),
///     Err(why) => println!("{why}"),
/// }
/// ```
///
/// # Errors
/// [`OpenClError::Absent`] if there is no platform, without a delay; [`OpenClError::Device`] if a call of a
/// driver fails.
pub fn devices() -> Result<&'static [Device], OpenClError> {
    static DEVICES: OnceLock<Result<Vec<Device>, OpenClError>> = OnceLock::new();
    DEVICES.get_or_init(ask).as_deref().map_err(Clone::clone)
}

/// Returns a backend on the first accelerator that computes in `T`, or on the first device that does if there
/// is no such accelerator.
///
/// *Cost* that of [`DeviceBackend`]: kernels are compiled, or read from a cache.
///
/// ```
/// use coarsen_backend::Backend;
/// use coarsen_core::Vector;
/// let Ok(backend) = coarsen_opencl::default_device::<f32>() else { return Ok(()) }; // no OpenCL here
/// let x = backend.vector(&[3.0, 4.0])?;
/// assert_eq!(x.norm(), 5.0);
/// # Ok::<(), coarsen_core::Error>(())
/// ```
///
/// # Errors
/// [`OpenClError::Absent`] if there is no platform, and the errors of [`DeviceBackend::first`].
pub fn default_device<T: Real>() -> Result<DeviceBackend<T>, OpenClError> {
    Ok(DeviceBackend::first(devices()?)?)
}

fn ask() -> Result<Vec<Device>, OpenClError> {
    probe()?;
    let mut devices = Vec::new();
    for platform in core::get_platform_ids().map_err(failed("clGetPlatformIDs"))? {
        let name = core::get_platform_info(platform, PlatformInfo::Name)
            .map_err(failed("clGetPlatformInfo"))?
            .to_string();
        // For a platform without devices this is an error, not an empty list.
        for id in core::get_device_ids(platform, Some(DeviceType::ALL), None).unwrap_or_default() {
            // A device that does not report its properties is left out.
            devices.extend(describe(id, &name).ok());
        }
    }
    Ok(devices)
}

/// Returns the properties of a device.
fn describe(id: DeviceId, platform: &str) -> Result<Device, OpenClError> {
    let bytes =
        |info: DeviceInfo| core::get_device_info_raw(id, info as u32).map_err(failed("clGetDeviceInfo"));
    let text = |info| bytes(info).map(|b| String::from_utf8_lossy(&b).trim_matches(['\0', ' ']).to_owned());
    let number = |info| bytes(info).map(|b| b.iter().rev().fold(0_u64, |n, &byte| n << 8 | u64::from(byte)));
    let opened = OpenClDevice { id, shared: Mutex::default(), programs: Arc::default() };
    Ok(Device {
        name: text(DeviceInfo::Name)?,
        platform: platform.trim().to_owned(),
        driver: text(DeviceInfo::DriverVersion)?,
        units: number(DeviceInfo::MaxComputeUnits)? as u32,
        memory: number(DeviceInfo::GlobalMemSize)?,
        double: number(DeviceInfo::DoubleFpConfig)? != 0,
        accelerator: number(DeviceInfo::Type)? & (DeviceType::GPU | DeviceType::ACCELERATOR).bits() != 0,
        shared: number(DeviceInfo::HostUnifiedMemory)? != 0,
        most: number(DeviceInfo::MaxMemAllocSize)?,
        width: number(DeviceInfo::MaxWorkGroupSize)? as usize,
        local: number(DeviceInfo::LocalMemSize)? as usize,
        used: Arc::default(),
        open: Arc::new(move |device| opened.open(device)),
    })
}
