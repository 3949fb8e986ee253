import { leaderLost } from './leaders.ts'
import type { Oracle } from './oracle.ts'
import { away, elsewhere, halfOpen, keysChanged, restored } from './oracles.ts'
import { races } from './races.ts'
import type { Scene } from './scene.ts'
import { startedAlone } from './starts.ts'
import { deletedSoon, sequencesForReal } from './teardown.ts'

/** Seconds that the control plane is unavailable, and that reads are answered meanwhile. */
const AWAY = 90
const BOUND = 60

export type Run = (scene: Scene) => Promise<Oracle[]>
export type Runs = Readonly<Record<string, Run>>

/** On a platform with several facades and controllers. */
export const MANY: Runs = { races, 'leader lost': leaderLost }
/** On a platform whose network may fail. */
export const WIRED: Runs = {
  'half-open': halfOpen,
  elsewhere: (scene) => elsewhere(scene, 20),
  'keys changed': keysChanged,
  away: (scene) => away(scene, AWAY, BOUND),
  restored,
  'started alone': startedAlone,
}
/** On a platform whose requests are counted. */
export const COUNTED: Runs = {
  'deleted soon': (scene) => deletedSoon(scene, 240),
  sequences: (scene) => sequencesForReal(scene, 60, 1),
}
