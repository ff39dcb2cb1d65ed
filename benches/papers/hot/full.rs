//! Fig. 15 and Table 2: all solvers on the hardest steps of whole runs.

use std::path::Path;
use std::time::Duration;

use coarsen::descent::Driver;
use mpm::state::State;

use crate::method;
use crate::moment::Moment;
use crate::plot::{self, Bar, Group};
use crate::rows::{Results, Row};
use crate::stage::Stage;
use crate::states::{ALL, folder, states};
use crate::{Asked, FULL, Outcome};

/// A method is stopped at this multiple of the time of HOT.
pub(crate) const CAP: f64 = 10.0;

/// The method that is the unit.
pub(crate) const HOT: &str = "hot";

/// The ranges of the paper over its scenes (§7.2): the mean time of a method relative to HOT.
const PAPER: [(&str, [f64; 2]); 4] = [
    ("pn-pcg", [1.98, 5.79]),
    ("pn-mf", [1.05, 5.76]),
    ("pn-mgpcg", [2.26, 10.67]),
    ("lbfgs-h", [1.03, 4.79]),
];

/// The scenes of which the paper names the least of these ratios.
const NAMED: [(&str, &str); 2] = [("twist", "at least 4"), ("faceless", "nearly 2")];

/// A method on the states of a scene.
pub(crate) struct Line {
    pub(crate) method: String,
    pub(crate) rows: Vec<Row>,
    /// Times relative to HOT on the same state, at most [`CAP`].
    pub(crate) ratios: Vec<f64>,
}

impl Line {
    pub(crate) fn mean(&self, of: impl Fn(&Row) -> f64) -> f64 {
        self.rows.iter().map(of).sum::<f64>() / self.rows.len().max(1) as f64
    }

    pub(crate) fn ratio(&self) -> f64 {
        self.ratios.iter().sum::<f64>() / self.ratios.len().max(1) as f64
    }

    /// The ends of the ratios.
    pub(crate) fn ends(&self) -> [f64; 2] {
        ends(self.ratios.iter().copied())
    }

    /// Whether a state was not solved in time.
    pub(crate) fn is_capped(&self) -> bool {
        self.ratios.iter().any(|ratio| *ratio >= CAP)
    }
}

fn ends(values: impl Iterator<Item = f64>) -> [f64; 2] {
    values.fold([f64::INFINITY, 0.0], |[low, high], v| [low.min(v), high.max(v)])
}

/// A ratio; those that were stopped are larger.
pub(crate) fn text(ratio: f64, capped: bool) -> String {
    let more = if capped { ">" } else { "" };
    if ratio >= CAP { format!("{more}{CAP:.0}") } else { format!("{more}{ratio:.2}") }
}

/// Measures the missing rows, prints the tables, and draws the picture.
pub(crate) fn run(asked: &Asked, results: &mut Results) -> Outcome<()> {
    let runs = asked
        .runs
        .as_ref()
        .ok_or("`full` needs runs=DIR, with the folder of a run by `states` for each scene")?;
    let folder = |scene: &str| folder(runs, scene);
    let found = || ALL.into_iter().filter(|scene| folder(scene).is_dir()).map(str::to_owned).collect();
    let scenes: Vec<String> = asked.scenes.clone().unwrap_or_else(found);
    // HOT comes first: the others are compared with it.
    let all = || Driver::ALL.map(|driver| driver.name().to_owned()).into();
    let mut methods: Vec<String> = asked.methods.clone().unwrap_or_else(all);
    methods.retain(|method| method != HOT);
    methods.insert(0, HOT.into());
    let mut groups = Vec::new();
    for scene in scenes {
        let lines = measure(&scene, &folder(&scene), &methods, asked, results)?;
        print(&scene, &lines, asked.threads);
        groups.push((scene, lines));
    }
    groups.retain(|(_, lines)| !lines.is_empty());
    if groups.is_empty() {
        return Err(format!("{} has no states of these scenes", runs.display()).into());
    }
    summarise(&groups, &methods);
    if asked.scenes.is_some() || !plot::are_among(&methods) {
        return Ok(()); // the picture in the book is of all
    }
    let bar = |line: &Line| Bar { method: line.method.clone(), mean: line.ratio(), most: line.ends()[1] };
    let group = |(scene, lines): &(String, Vec<Line>)| Group {
        name: scene.clone(),
        bars: lines.iter().skip(1).map(bar).collect(),
    };
    plot::bars("mpm_full.svg", &groups.iter().map(group).collect::<Vec<_>>())
}

/// Measures the missing rows of a scene; the first method is HOT. A state after which HOT does not converge, or takes no
/// iteration, is left out: the hard steps of its frame come later, and a ratio would be that of the setups.
pub(crate) fn measure(
    scene: &str,
    folder: &Path,
    methods: &[String],
    asked: &Asked,
    results: &mut Results,
) -> Outcome<Vec<Line>> {
    let line = |method: &String| Line { method: method.clone(), rows: Vec::new(), ratios: Vec::new() };
    let mut lines: Vec<Line> = methods.iter().map(line).collect();
    let mut stage = None;
    for (_, state) in states(folder)? {
        if lines[0].rows.len() == asked.most {
            break;
        }
        let (particles, frame) = (state.particles.len(), state.frame);
        let (mut waiting, mut moment, mut unit) = (Some(state), None, 0.0_f64);
        for line in &mut lines {
            let key = Row::key((FULL, asked.threads), scene, [particles, frame], &line.method);
            let (row, most) =
                (results.find(&key).cloned(), (unit > 0.0 && unit.is_finite()).then_some(CAP * unit));
            let row = match row {
                Some(row) => row,
                None => {
                    if let Some(state) = waiting.take() {
                        let stage = match stage.take() {
                            Some(stage) => stage,
                            None => Stage::new(scene, asked.particles)?,
                        };
                        let begun = moment.insert(begin(stage, state)?);
                        // The first solve touches new memory; HOT, which is measured first, would pay for it.
                        drop(method::solve(Driver::Hot, begun.step(), None));
                    }
                    let moment = moment.as_ref().ok_or("a step has begun")?;
                    results.get(key, || solve(&line.method, moment, most))?
                }
            };
            if unit == 0.0 {
                if !row.converged || row.outer == 0.0 {
                    let what = if row.converged { "takes no iteration" } else { "does not converge" };
                    eprintln!("{scene}: HOT {what} after frame {frame}; the state is left out");
                    break;
                }
                unit = row.seconds;
            }
            let ratio = row.seconds / unit;
            line.ratios.push(if row.converged { ratio.min(CAP) } else { CAP });
            line.rows.push(row);
        }
        stage = stage.or_else(|| moment.map(|moment: Moment| moment.stage));
    }
    lines.retain(|line| !line.rows.is_empty());
    Ok(lines)
}

/// The step after a state, which must be one of the scene.
pub(crate) fn begin(stage: Stage, state: State) -> Outcome<Moment> {
    let (found, bodies) = (state.particles.len(), stage.bodies.len());
    let expected = if stage.setting.emitter.is_empty() { stage.state.particles.len() } else { found };
    if expected != found {
        return Err(
            format!("a state has {found} particles, but the scene {expected}; give particles=").into()
        );
    }
    if let Some(body) = state.particles.iter().map(|p| p.body as usize).find(|&body| body >= bodies) {
        return Err(format!("a state has body {body}, but the scene {bodies} only").into());
    }
    Moment::at(stage, state)
}

/// Solves a step; `most` is the limit in seconds. A method that fails has no time.
fn solve(method: &str, moment: &Moment, most: Option<f64>) -> Outcome<Row> {
    let result = method::solve(method.parse()?, moment.step(), most.map(Duration::from_secs_f64));
    Ok(result.map(|solved| solved.row).unwrap_or_else(|error| {
        eprintln!("{method}: {error}");
        Row { seconds: f64::INFINITY, ..Row::default() }
    }))
}

fn print(scene: &str, lines: &[Line], threads: usize) {
    let Some(first) = lines.first() else { return };
    let (nodes, count) = (first.mean(|row| row.nodes as f64), first.rows.len());
    println!("\n`full`: {scene}, {count} states, {nodes:.0} free nodes, {threads} threads; ratios to HOT\n");
    println!("| method | iterations | of CG | s | ratio | least | most |");
    println!("|---|---:|---:|---:|---:|---:|---:|");
    for line in lines {
        let capped = line.is_capped();
        let ([least, most], more) = (line.ends(), if capped { "*" } else { "" });
        let [outer, inner, s] =
            [line.mean(|row| row.outer), line.mean(|row| row.inner), line.mean(|row| row.seconds)];
        println!(
            "| {} | {outer:.1}{more} | {inner:.0} | {s:.2} | {} | {} | {} |",
            line.method,
            text(line.ratio(), capped),
            text(least, least >= CAP),
            text(most, capped)
        );
    }
}

/// The ranges of the means over the scenes, and the fastest method of each scene.
fn summarise(groups: &[(String, Vec<Line>)], methods: &[String]) {
    println!("\n`full`: mean ratios to HOT over {} scenes\n", groups.len());
    println!("| method | least | most | a single step | paper |");
    println!("|---|---:|---:|---:|---|");
    for method in methods.iter().skip(1) {
        let of = || groups.iter().flat_map(|(_, lines)| lines).filter(|line| line.method == *method);
        let ([least, most], step) = (ends(of().map(Line::ratio)), ends(of().flat_map(Line::ends))[1]);
        let (capped, known) = (of().any(Line::is_capped), PAPER.iter().find(|(name, _)| name == method));
        let paper = known.map_or(String::new(), |(_, [low, high])| format!("{low} to {high}"));
        let (most, step) = (text(most, capped), text(step, capped));
        println!("| {method} | {} | {most} | {step} | {paper} |", text(least, least >= CAP));
    }
    println!("\n| scene | fastest | ratio to HOT | next of the paper's methods | paper |");
    println!("|---|---|---:|---:|---|");
    for (scene, lines) in groups {
        let fastest = lines.iter().min_by(|a, b| a.ratio().total_cmp(&b.ratio()));
        let next = lines.iter().filter(|line| PAPER.iter().any(|(name, _)| *name == line.method));
        let [next, _] = ends(next.map(Line::ratio));
        let Some(fastest) = fastest else { continue };
        let paper = NAMED.iter().find(|(name, _)| name == scene).map_or("", |(_, said)| said);
        let (name, ratio) = (&fastest.method, fastest.ratio());
        println!("| {scene} | {name} | {ratio:.2} | {} | {paper} |", text(next, next >= CAP));
    }
}
