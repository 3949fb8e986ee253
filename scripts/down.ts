import { endWith, isFolder } from './commandLine.ts'
import { stopLeftovers, stopRecord } from './controlplane/processes.ts'
import { removeCgroups, stateOf } from './node/namespaces.ts'
import { parseDownArguments } from './up/arguments.ts'
import { becomeSupervisor, runningSupervisor } from './up/state.ts'

const STOP_DEADLINE_MS = 40_000

try {
  const { folder } = parseDownArguments(process.argv.slice(2))
  // Taking the lock would create the folder.
  const stopped = (await isFolder('--data', folder)) ? await stopAll(folder) : []
  process.stdout.write(stopped.length === 0 ? `Nothing runs on ${folder}.\n` : `Stopped ${stopped.join(', ')}.\n`)
} catch (error) {
  endWith(error)
}

/** @returns the names of what ran */
async function stopAll(folder: string): Promise<string[]> {
  const supervisor = await runningSupervisor(folder)
  if (supervisor !== undefined) await stopRecord(supervisor, STOP_DEADLINE_MS)
  // Leftovers of a killed `up`, unless they ended with it.
  const leftovers = await stopLeftovers(folder)
  await removeCgroups(stateOf(folder))
  const release = await becomeSupervisor(folder)
  await release?.()
  return [...(supervisor === undefined ? [] : ['the platform']), ...leftovers]
}
