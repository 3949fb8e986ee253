import { OwnPlatform, type OwnPlatformOptions } from './platform.ts'

/**
 * Platforms that files use one after the other, each with an operator of its own. A file says which at its top, as
 * `@inTurn plain`; files of one platform run in one process (scripts/test.ts).
 */
const LENT = {
  plain: { isAudited: true },
  /** Counts the operator's requests, and plays faults. */
  proxied: { nodes: 10, proxied: true, withStore: true },
} as const satisfies Record<string, OwnPlatformOptions>

const prepared = new Map<string, Promise<OwnPlatform>>()

// Imported by test files alone, so this is a hook of the whole run.
after(async () => {
  for (const one of prepared.values()) await (await one.catch(() => undefined))?.stop()
})

/**
 * A platform whose operator does not run. There may be boundaries of others on it, and nothing of theirs that counts for
 * everybody: who takes something from everybody, an Owner or a setting of the cluster, brings it back in `after`.
 */
export function borrowPlatform(name: keyof typeof LENT): Promise<OwnPlatform> {
  const found = prepared.get(name) ?? OwnPlatform.prepare(LENT[name])
  prepared.set(name, found)
  return found
}

/** Ends what the file has started. For `after`, also where `before` has failed. */
export async function giveBack(own: OwnPlatform | undefined): Promise<void> {
  await own?.endProcesses()
}
