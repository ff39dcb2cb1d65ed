use super::*;

#[test]
fn bits_do_not_depend_on_threads() {
    let x: Vec<f64> = (0..300_001).map(|i| (f64::from(i) * 0.37).sin()).collect();
    let sum = || tree(&x[..], LEAF, worth(x.len()), &|x: &[f64]| x.iter().sum::<f64>(), &|a, b| a + b);
    let one = threads(1, sum).unwrap();
    for n in [2, 7] {
        assert_eq!(one.to_bits(), threads(n, sum).unwrap().to_bits());
    }
}

#[test]
fn small_work_stays_on_one_thread() {
    for (threads_of_pool, expected) in [(1, [false; 4]), (2, [false, true, false, true])] {
        let found = threads(threads_of_pool, || {
            [
                worth(THRESHOLD - 1),
                worth(THRESHOLD),
                worth_product(4 * THRESHOLD - 1),
                worth_product(4 * THRESHOLD),
            ]
        });
        assert_eq!(found.unwrap(), expected);
    }
    assert!(!worth(8 * THRESHOLD - 1), "outside a pool");
}

/// A call is moved to a thread of the pool once, if its products are large enough and the pool has several threads.
#[test]
fn large_work_enters_the_pool_once() {
    const LARGE: usize = 4 * THRESHOLD;
    let thread = || (std::thread::current().id(), rayon::current_thread_index().is_some());
    let (own, _) = thread();
    assert_eq!(enter(LARGE - 1, thread), (own, false));
    let has_several = rayon::current_num_threads() > 1;
    enter(LARGE, || {
        let (entered, is_inside) = thread();
        assert_eq!((entered != own, is_inside), (has_several, has_several));
        assert_eq!(enter(LARGE, thread).0, entered);
    });
    for n in [1, 2] {
        let stays = threads(n, || enter(LARGE, thread).0 == thread().0);
        assert!(stays.unwrap(), "inside a pool");
    }
    let panicked = std::panic::catch_unwind(|| enter(LARGE, || panic!("inside")));
    assert_eq!(panicked.unwrap_err().downcast_ref(), Some(&"inside"));
}

#[test]
fn maps_and_searches_see_every_entry() {
    let x: Vec<u32> = (0..300_001).collect();
    let mut y = vec![0; x.len()];
    threads(3, || map(&x, &mut y, |v| v + 1)).unwrap();
    assert!(y.iter().zip(1..).all(|(y, i)| *y == i));
    for n in [1, 3] {
        assert_eq!(threads(n, || position(&y, |v| v % 100_000 == 0)).unwrap(), Some(99_999));
        assert_eq!(threads(n, || position(&y, |v| *v == 0)).unwrap(), None);
    }
}

#[test]
fn groups_are_cut_between_blocks() {
    let mut y = [0; 30];
    each((0..10, Groups(&mut y[..], 3)), 2, false, &|(rows, y): (Range<usize>, Groups<&mut [i32]>)| {
        for (k, row) in rows.enumerate() {
            y.0[3 * k..3 * k + 3].fill(row as i32);
        }
    });
    assert_eq!(y[27..], [9, 9, 9]);
    assert_eq!(y[6..9], [2, 2, 2]);
}

/// Only loops that may use several threads enter a thread pool.
#[test]
fn threads_are_used_only_where_they_may_be() {
    let own = std::thread::current().id();
    let is_own = |_: Range<usize>| std::thread::current().id() == own;
    for parallel in [false, true] {
        let (all, any) = (
            tree(0..64, 1, parallel, &is_own, &|a, b| a && b),
            tree(0..64, 1, parallel, &is_own, &|a, b| a || b),
        );
        assert_eq!([all, any], [!parallel; 2]);
        items(&[1, 2, 3], parallel, &|_| assert_eq!(std::thread::current().id() == own, !parallel));
    }
}
