import { away, elsewhere, halfOpen, keysChanged, lineOf, type Oracle, restored } from '../test/faults/oracles.ts'
import { Scene } from '../test/faults/scene.ts'

/** Seconds that the control plane is away, and that reads are answered meanwhile. */
const AWAY = 90
const BOUND = 60

const RUNS: readonly [string, (scene: Scene) => Promise<Oracle[]>][] = [
  ['half-open', halfOpen],
  ['elsewhere', (scene) => elsewhere(scene, 20)],
  ['keys changed', keysChanged],
  ['away', (scene) => away(scene, AWAY, BOUND)],
  ['restored', restored],
]

/** `npm run faults [-- NAME]`: plays each fault on a platform of its own, one line for each thing that must hold. */
const [only] = process.argv.slice(2)
const scene = await Scene.set()
let failed = 0
try {
  for (const [title, run] of RUNS) {
    if (only !== undefined && only !== title) continue
    for (const oracle of await run(scene)) {
      console.log(lineOf(title, oracle))
      if (!oracle.holds) failed += 1
    }
  }
} finally {
  await scene.stop()
}
process.exit(failed > 0 ? 1 : 0)
