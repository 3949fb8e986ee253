import { OwnPlatform, type OwnPlatformOptions } from './platform.ts'

/**
 * Platforms that files use one after the other, each with an operator of its own. A file names its platform at the top,
 * as `@inTurn plain`; files of one platform run in one process (scripts/test.ts).
 */
const LENT = {
  plain: { isAudited: true },
  /** Counts the operator's requests and injects faults. */
  proxied: { nodes: 10, proxied: true, withStore: true },
} as const satisfies Record<string, OwnPlatformOptions>

const prepared = new Map<string, Promise<OwnPlatform>>()

// Only test files import this, so it is a hook of the whole run.
after(async () => {
  for (const one of prepared.values()) await (await one.catch(() => undefined))?.stop()
})

/**
 * A platform without a running operator. It may have boundaries of other files, but nothing that affects everybody: a
 * file that removes something global, such as an Owner or a setting of the cluster, restores it in `after`.
 */
export function borrowPlatform(name: keyof typeof LENT): Promise<OwnPlatform> {
  const found = prepared.get(name) ?? OwnPlatform.prepare(LENT[name])
  prepared.set(name, found)
  return found
}

/** Stops what the file has started. For `after`, also if `before` has failed. */
export async function giveBack(own: OwnPlatform | undefined): Promise<void> {
  await own?.endProcesses()
}
