import { run as runAuthorization } from './authorization.ts'
import { runEditor } from './editor.ts'
import { runFreshness } from './freshness.ts'
import { runGet } from './get.ts'
import { runHostile } from './hostile.ts'
import { runIdle } from './idle.ts'
import { runList } from './list.ts'
import { runLists } from './lists.ts'
import { runMemory } from './memory.ts'
import { runNeighbours } from './neighbours.ts'
import type { BenchmarkOptions } from './options.ts'
import { runReconcile } from './reconcile.ts'
import { runRegistry } from './registry.ts'
import { runRequests } from './requests.ts'
import { runSecret } from './secret.ts'
import { runStart } from './start.ts'

/** By the name that `npm run bench -- <name>` takes. Each compares contents before it times anything. */
export const BENCHMARKS: Readonly<Record<string, (options: BenchmarkOptions) => Promise<object>>> = {
  get: runGet,
  list: runList,
  idle: runIdle,
  start: runStart,
  requests: runRequests,
  lists: runLists,
  memory: runMemory,
  reconcile: runReconcile,
  secret: runSecret,
  editor: runEditor,
  freshness: runFreshness,
  hostile: runHostile,
  neighbours: runNeighbours,
  registry: runRegistry,
  authz: ({ seconds }) => runAuthorization(seconds),
}
