//! What this machine has.

use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use coarsen_core::{Error, Real};
use coarsen_opencl_loader::probe;
use ocl::core::{self, DeviceId, DeviceInfo, DeviceType, PlatformInfo};

use crate::OpenClError;
use crate::error::failed;

/// An OpenCL device: what it says of itself.
#[derive(Clone, Debug)]
pub struct Device {
    /// Its name, such as `pthread-skylake-avx512`.
    pub name: String,
    /// The platform it belongs to, such as `Portable Computing Language`.
    pub platform: String,
    /// The version of its driver.
    pub driver: String,
    /// Compute units: cores of a processor, multiprocessors of a graphics card.
    pub units: u32,
    /// Global memory, in bytes.
    pub memory: u64,
    /// Whether it computes in `f64`.
    pub double: bool,
    /// Whether it is a graphics card or another accelerator rather than the host's processor.
    pub accelerator: bool,
    pub(crate) id: DeviceId,
    /// Whether it works in the host's memory, so that buffers are mapped instead of copied.
    pub shared: bool,
    /// The most bytes that one buffer may have.
    pub(crate) most: u64,
    /// Most items in a work group.
    pub(crate) width: usize,
    /// The context of all places on this device, once there is one.
    context: Arc<Mutex<Option<core::Context>>>,
}

/// All OpenCL devices of this machine, platform after platform, as the drivers list them.
///
/// Drivers are asked once in a process, by one thread: PoCL 3.1 has no devices while another thread takes them up.
///
/// ```
/// match coarsen_opencl::devices() {
///     Ok(devices) => devices.iter().for_each(|d| println!("{d}")),
///     Err(why) => println!("{why}"),
/// }
/// ```
///
/// # Errors
/// [`OpenClError::Absent`] at once where there is no platform; [`OpenClError::Core`] when a driver does not answer.
pub fn devices() -> Result<&'static [Device], OpenClError> {
    static DEVICES: OnceLock<Result<Vec<Device>, OpenClError>> = OnceLock::new();
    DEVICES.get_or_init(ask).as_deref().map_err(Clone::clone)
}

fn ask() -> Result<Vec<Device>, OpenClError> {
    probe()?;
    let mut devices = Vec::new();
    for platform in core::get_platform_ids().map_err(failed("clGetPlatformIDs"))? {
        let name = core::get_platform_info(platform, PlatformInfo::Name)
            .map_err(failed("clGetPlatformInfo"))?
            .to_string();
        // A platform without devices answers with an error, not with an empty list.
        for id in core::get_device_ids(platform, Some(DeviceType::ALL), None).unwrap_or_default() {
            // One that cannot say what it is can compute nothing; the others can.
            devices.extend(Device::ask(id, &name).ok());
        }
    }
    Ok(devices)
}

impl Device {
    /// Whether vectors of `T` can live there.
    pub fn computes<T: Real>(&self) -> bool {
        size_of::<T>() == 4 || self.double
    }

    /// The context that all places on this device share.
    ///
    /// The list of devices keeps it until the process ends: PoCL 3.1 takes its devices down with the last context, and
    /// a thread that asks about one meanwhile crashes.
    pub(crate) fn context(&self) -> Result<core::Context, Error> {
        let mut kept = self.context.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(context) = &*kept {
            return Ok(context.clone());
        }
        let context =
            core::create_context(None, &[self.id], None, None).map_err(failed("clCreateContext"))?;
        Ok(kept.insert(context).clone())
    }

    fn ask(id: DeviceId, platform: &str) -> Result<Self, OpenClError> {
        let bytes =
            |info: DeviceInfo| core::get_device_info_raw(id, info as u32).map_err(failed("clGetDeviceInfo"));
        let text =
            |info| bytes(info).map(|b| String::from_utf8_lossy(&b).trim_matches(['\0', ' ']).to_owned());
        let number =
            |info| bytes(info).map(|b| b.iter().rev().fold(0_u64, |n, &byte| n << 8 | u64::from(byte)));
        Ok(Self {
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
            context: Arc::default(),
            id,
        })
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let precision = if self.double { "f32, f64" } else { "f32" };
        let gigabytes = self.memory as f64 / f64::from(1 << 30);
        write!(
            f,
            "{} ({} {}): {} units, {gigabytes:.1} GiB, {precision}",
            self.name, self.platform, self.driver, self.units
        )
    }
}
