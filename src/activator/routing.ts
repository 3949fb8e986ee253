import { isDeepStrictEqual } from 'node:util'
import { decodePath } from '../contracts/functionPaths.ts'
import { servesPath } from '../contracts/functions.ts'
import type { FunctionTrigger } from '../crds/functionFields.ts'

/** Matches a request to a trigger of a function. Pure. */

export type RoutableFunction = {
  readonly key: string
  readonly triggers: readonly FunctionTrigger[]
  readonly paths: readonly string[]
}

export type TriggerMatch =
  | { kind: 'found'; key: string; trigger: FunctionTrigger }
  | { kind: 'none' }
  | { kind: 'method'; allowed: readonly string[] }

/** Finds the trigger with the longest matching path. A function answers only on paths that its status lists. */
export function findTrigger(functions: readonly RoutableFunction[], method: string, path: string): TriggerMatch {
  const matches = functions
    .flatMap(({ key, triggers, paths }) =>
      triggers.flatMap((trigger) => {
        const { path: served } = trigger
        return served !== undefined && paths.includes(served) && servesPath(served, path)
          ? [{ key, trigger, served }]
          : []
      }),
    )
    .sort((one, other) => other.served.length - one.served.length)
  const [best] = matches
  if (best === undefined) return { kind: 'none' }
  if (!best.trigger.methods.includes(method)) return { kind: 'method', allowed: best.trigger.methods }
  return { kind: 'found', key: best.key, trigger: best.trigger }
}

/** Returns the host of a Host header, without its port. */
export function stripPort(header: string | undefined): string {
  const host = (header ?? '').toLowerCase()
  return host.startsWith('[') ? host.slice(0, host.indexOf(']') + 1) : (host.split(':')[0] ?? '')
}

/** As `findTrigger`; `ambiguous` if a copy that decodes the path would match another trigger. */
export function findUnambiguousTrigger(
  functions: readonly RoutableFunction[],
  method: string,
  path: string,
): TriggerMatch | { kind: 'ambiguous' } {
  const decoded = decodePath(path)
  if (decoded === undefined) return { kind: 'ambiguous' }
  const found = findTrigger(functions, method, path)
  const isPlain = decoded === path || isDeepStrictEqual(found, findTrigger(functions, method, decoded))
  return isPlain ? found : { kind: 'ambiguous' }
}
