use super::*;

/// The actions for a sequence of iteration counts.
fn actions(iterations: &[usize]) -> (Vec<Action>, RebuildPolicy) {
    let mut policy = RebuildPolicy::default();
    let decide = |&its: &usize| {
        let action = policy.decide(1e-5);
        policy.learn(its, Outcome::Converged);
        action
    };
    (iterations.iter().map(decide).collect(), policy)
}

/// The preconditioner is kept if the loss equals the cost of an update, but not if it is larger. The loss may occur in
/// one solve or in several.
#[test]
fn lost_iterations_add_up_to_the_cost_of_an_update() {
    use Action::{Build, Patch, Update};
    assert_eq!(actions(&[100, 109, 100, 101, 100, 0]).0, [Build, Patch, Patch, Patch, Update, Patch]);
    assert_eq!(actions(&[100, 110, 100, 100]).0, [Build, Patch, Update, Update]);
    assert_eq!(actions(&[100, 90, 99, 100, 50, 100]).0[1..], [Patch; 5]);
}

/// With an unlimited rebuild cost, the preconditioner is kept after any loss.
#[test]
fn unlimited_rebuild_cost_keeps_the_preconditioner() {
    let mut policy = RebuildPolicy { rebuild_cost: usize::MAX, ..RebuildPolicy::default() };
    for iterations in [10, usize::MAX, usize::MAX] {
        policy.decide(0.0);
        policy.learn(iterations, Outcome::Converged);
    }
    assert_eq!((policy.count(Action::Build), policy.count(Action::Keep)), (1, 2));
}

/// If updates do not help, a build is tried. If the system has become harder, it sets a new reference, and the builds end.
#[test]
fn a_harder_system_moves_the_mark() {
    use Action::{Build, Patch, Update};
    let (actions, policy) = actions(&[10, 40, 40, 40, 40, 40, 40, 40]);
    assert_eq!(actions, [Build, Patch, Update, Build, Update, Update, Patch, Patch]);
    let text = policy.to_string();
    for line in [
        "update: 40 iterations, more than 19",
        "build: 40 iterations, and after updates as many were lost as a build costs",
        "update: 40 iterations, and keeping the preconditioner failed recently",
        "patch: 40 iterations, within 49",
    ] {
        assert!(text.contains(line), "{text}");
    }
}

/// If keeping always fails, almost all actions are updates. If keeping costs nothing, nothing follows the first build.
#[test]
fn keeping_is_tried_less_often_the_more_often_it_fails() {
    let run = |worse: usize| {
        let (mut policy, mut stale) = (RebuildPolicy::default(), 0);
        for _ in 0..60 {
            stale = if policy.decide(1e-5) == Action::Patch { stale + 1 } else { 0 };
            policy.learn(100 + worse * stale, Outcome::Converged);
        }
        [policy.count(Action::Build), policy.count(Action::Update)]
    };
    let [builds, updates] = run(60);
    assert!(builds == 1 && updates >= 53, "{builds} {updates}");
    assert_eq!(run(0), [1, 0]);
}

/// A run of any length takes bounded memory, and its counts stay right.
#[test]
fn the_log_is_bounded() {
    let (mut policy, mut capacity) = (RebuildPolicy::default(), 0);
    let steps = 10 * KEPT + 3;
    for step in 0..steps {
        policy.decide(if step % 2 == 0 { 1e-5 } else { 0.0 });
        policy.learn(10, Outcome::Converged);
        assert!((KEPT.min(step + 1)..=2 * KEPT).contains(&policy.log().len()));
        if step == 2 * KEPT {
            capacity = policy.log.capacity();
        }
    }
    assert_eq!(policy.log.capacity(), capacity);
    let all = [Action::Build, Action::Update, Action::Patch, Action::Keep];
    assert_eq!(all.map(|action| policy.count(action)).iter().sum::<usize>(), steps);
    assert_eq!((policy.count(Action::Build), policy.count(Action::Keep)), (1, steps / 2));
    let text = policy.to_string();
    assert!(text.lines().last().unwrap().starts_with(&(steps - 1).to_string()), "{text}");
}

#[test]
fn the_decision_after_a_failed_solve_is_a_build_with_its_count() {
    let mut policy = RebuildPolicy::default();
    let mut decide = |iterations, outcome| {
        let action = policy.decide(1e-5);
        policy.learn(iterations, outcome);
        action
    };
    assert_eq!(decide(10, Outcome::Converged), Action::Build);
    assert_eq!(decide(234, Outcome::Stagnated), Action::Patch);
    assert_eq!(decide(7, Outcome::Breakdown), Action::Build);
    assert_eq!(decide(12, Outcome::Converged), Action::Build);
    assert_eq!(decide(12, Outcome::Converged), Action::Patch);
    let last = policy.log()[3];
    assert_eq!((last.before, last.after), (Some((7, Outcome::Breakdown)), Some((12, Outcome::Converged))));
    let text = policy.to_string();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[2], "   2  build: the previous solve ended after 234 iterations: stagnated");
    assert_eq!(lines[3], "   3  build: the previous solve ended after 7 iterations: breakdown");
    assert_eq!(lines[4], "   4  patch: 12 iterations, within 21");
}

#[test]
fn a_solve_that_nobody_tells_about_counts_as_failed() {
    let mut policy = RebuildPolicy::default();
    policy.learn(3, Outcome::Converged);
    assert!(policy.log().is_empty());
    assert_eq!([policy.decide(1e-5), policy.decide(1e-5)], [Action::Build; 2]);
}

/// A build in place of another action sets the reference, so more iterations after it are no loss.
#[test]
fn builds_that_were_not_decided_set_the_reference() {
    let mut policy = RebuildPolicy::default();
    policy.overrule(Action::Build);
    assert_eq!((policy.decide(0.0), policy.learn(10, Outcome::Converged)), (Action::Build, ()));
    assert_eq!(policy.decide(0.0), Action::Keep);
    policy.overrule(Action::Build);
    policy.learn(90, Outcome::Converged);
    assert_eq!(
        (policy.decide(1e-5), policy.count(Action::Build), policy.count(Action::Keep)),
        (Action::Patch, 2, 0)
    );
    let text = policy.to_string();
    assert_eq!(text.lines().nth(1), Some("   1  build in place of keep: 10 iterations, within 19"), "{text}");
}

/// What is lost stays lost if a decided update is not done.
#[test]
fn updates_that_are_not_done_forget_nothing() {
    let mut policy = RebuildPolicy::default();
    for iterations in [10, 15, 15] {
        policy.decide(0.0);
        policy.learn(iterations, Outcome::Converged);
    }
    assert_eq!(policy.decide(0.0), Action::Update);
    policy.overrule(Action::Keep);
    policy.learn(10, Outcome::Converged);
    assert_eq!(policy.decide(0.0), Action::Update);
    policy.learn(24, Outcome::Converged);
    assert_eq!(policy.decide(0.0), Action::Keep);
}

/// What updates have lost stays lost if a build for it is not done; after a failed solve and a build nothing is.
#[test]
fn builds_for_the_structure_are_decided_until_they_are_done() {
    let mut policy = RebuildPolicy { rebuild_cost: 9, ..RebuildPolicy::default() };
    let mut step = |done: Option<Action>, iterations, outcome| {
        let decided = policy.decide(0.0);
        done.into_iter().for_each(|done| policy.overrule(done));
        policy.learn(iterations, outcome);
        decided
    };
    let converged = Outcome::Converged;
    assert_eq!(step(None, 10, converged), Action::Build);
    assert_eq!(step(Some(Action::Update), 20, converged), Action::Keep);
    for done in [Action::Update, Action::Keep] {
        assert_eq!(step(Some(done), 20, converged), Action::Build); // ten are lost, then twenty
    }
    assert_eq!(step(None, 5, Outcome::Stagnated), Action::Build);
    assert_eq!(step(None, 20, converged), Action::Build);
    assert_eq!(step(None, 20, converged), Action::Keep);
}

#[test]
fn decisions_tell_their_reason() {
    let decision = Decision {
        action: Action::Build,
        decided: Action::Build,
        first: true,
        many_touched: false,
        before: None,
        limit: None,
        after: None,
    };
    assert!(decision.to_string().ends_with(": the first"), "{decision}");
    let unknown = Decision { first: false, ..decision };
    assert!(unknown.to_string().ends_with("was not reported"), "{unknown}");
}

/// New couplings of many rows need another structure, however few iterations the last solve took.
#[test]
fn many_touched_rows_are_built_for() {
    let mut policy = RebuildPolicy::default();
    let mut decide = |touched| {
        let action = policy.decide(touched);
        policy.learn(20, Outcome::Converged);
        action
    };
    let shares = [0.0, 0.02, 0.3, 0.02, 0.02, 0.0, 0.02, f64::NAN];
    let [build, patch, keep] = [Action::Build, Action::Patch, Action::Keep];
    assert_eq!(shares.map(&mut decide), [build, patch, build, patch, patch, keep, build, keep]);
    assert!(policy.to_string().contains("build: more than 5 % of the rows changed"), "{policy}");
}

/// Rows that were touched stay touched if a decided build is not done.
#[test]
fn builds_that_are_not_done_forget_no_rows() {
    let mut policy = RebuildPolicy::default();
    for (touched, decided) in
        [(0.0, Action::Build), (0.2, Action::Build), (0.0, Action::Build), (0.0, Action::Keep)]
    {
        assert_eq!(policy.decide(touched), decided);
        if touched > 0.0 {
            policy.overrule(Action::Update);
        }
        policy.learn(20, Outcome::Converged);
    }
}
