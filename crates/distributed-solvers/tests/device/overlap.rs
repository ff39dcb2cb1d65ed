//! The order of commands shows that transfers run beside the product with the own entries.

use coarsen_core::{LinearOperator, Vector};
use coarsen_distributed::{Communicator, GlobalRows, Layout, Partition, ThreadComm};
use coarsen_distributed_solvers::{DistDeviceMatrix, DistDeviceVector};
use coarsen_opencl::Recorded;
use coarsen_problems::cloth;

use crate::{DEADLINE, backend};

/// Products until one shows the overlap, at most.
const MOST: usize = 200;

/// The commands of a product, in the order in which they are enqueued.
const ORDER: [&str; 6] =
    ["coarsen_gather", "read", "coarsen_multiply", "write", "coarsen_multiply", "coarsen_scatter_add"];

/// Whether transfers of a product were enqueued and begun while the product with the own entries ran.
fn is_hidden(product: &[Recorded]) -> bool {
    let [gather, read, own, write, ghosts, add] = product else { panic!("{product:?}") };
    let names = product.iter().map(|command| &*command.name);
    // The product with the own entries is enqueued before the read is waited for, in either order of the record.
    assert!(names.clone().eq(ORDER), "{product:?}");
    assert!(read.start >= gather.end, "{product:?}");
    assert!(ghosts.start >= own.end && ghosts.start >= write.end && add.start >= ghosts.end, "{product:?}");
    // Nothing waits for the product before the ghosts are on their way.
    write.queued < own.end
}

/// Ghosts go to the device of a rank before its product with the own entries has ended. If any transfer waited for this
/// product, none would.
#[test]
fn transfers_run_beside_the_product() {
    let problem = cloth(120, 0.01).unwrap();
    let n = problem.matrix.pattern().rows() as u64;
    let done = ThreadComm::run(2, DEADLINE, |comm| {
        let Some(device) = backend() else { return };
        let partition = Partition::new(comm, Layout::even(n, 3, 2).unwrap()).unwrap();
        let rows = GlobalRows::of(&problem.matrix, partition.layout().range(partition.rank())).unwrap();
        let a = DistDeviceMatrix::new(&device, &partition, &rows).unwrap();
        let x = DistDeviceVector::new(&partition, &device, &vec![1.0; 3 * partition.count()]).unwrap();
        let mut y = x.like().unwrap();
        a.apply(&x, &mut y); // compiles
        assert!(device.recorded().unwrap().is_empty());
        device.record(true).unwrap();
        let mut hidden = [0.0; 2];
        for product in 0..MOST {
            a.apply(&x, &mut y);
            hidden[partition.rank()] += f64::from(u8::from(is_hidden(&device.recorded().unwrap())));
            let mut all = hidden;
            partition.comm().all_reduce(&mut all).unwrap();
            if all[0] > 0.0 && all[1] > 0.0 {
                println!("products with hidden transfers: {all:?} of {}", product + 1);
                break;
            }
        }
        assert!(hidden[partition.rank()] > 0.0, "rank {}", partition.rank());
        device.record(false).unwrap();
        a.apply(&x, &mut y);
        assert!(device.recorded().unwrap().is_empty());
    });
    done.into_iter().for_each(|rank| rank.unwrap());
}
