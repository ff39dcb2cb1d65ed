//! All threads get the same result, even if they call while drivers are being loaded.

use std::sync::Barrier;

use coarsen_opencl_loader::probe;

#[test]
fn threads_agree() {
    let together = Barrier::new(8);
    let answers = std::thread::scope(|s| {
        let ask = || {
            together.wait();
            probe()
        };
        [(); 8].map(|()| s.spawn(ask)).map(|t| t.join().unwrap())
    });
    println!("{:?}", answers[0]);
    assert!(answers.iter().all(|a| *a == answers[0]));
}
