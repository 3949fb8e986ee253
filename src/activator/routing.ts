import { isDeepStrictEqual } from 'node:util'
import { servesPath } from '../contracts/functions.ts'
import { percentDecoded } from '../core/percentDecoded.ts'
import type { FunctionTrigger } from '../crds/functionFields.ts'

/** What a request means: which trigger of which function. Pure. */

export type Callable = {
  readonly key: string
  readonly triggers: readonly FunctionTrigger[]
  readonly paths: readonly string[]
}

export type Found =
  | { kind: 'found'; key: string; trigger: FunctionTrigger }
  | { kind: 'none' }
  | { kind: 'method'; allowed: readonly string[] }

/** The longest path that serves the one asked for. A function answers only under paths that it holds. */
export function findTrigger(functions: readonly Callable[], method: string, path: string): Found {
  const fitting = functions
    .flatMap(({ key, triggers, paths }) =>
      triggers.flatMap((trigger) => {
        const { path: served } = trigger
        return served !== undefined && paths.includes(served) && servesPath(served, path)
          ? [{ key, trigger, served }]
          : []
      }),
    )
    .sort((one, other) => other.served.length - one.served.length)
  const [best] = fitting
  if (best === undefined) return { kind: 'none' }
  if (!best.trigger.methods.includes(method)) return { kind: 'method', allowed: best.trigger.methods }
  return { kind: 'found', key: best.key, trigger: best.trigger }
}

/** The path of a request target without its query, decoded nowhere: `/a%2Fb` is one segment. */
export function pathOf(target: string): string {
  return target.split('?', 1)[0] ?? ''
}

/** The host that a header names, without its port. */
export function hostOf(header: string | undefined): string {
  const host = (header ?? '').toLowerCase()
  return host.startsWith('[') ? host.slice(0, host.indexOf(']') + 1) : (host.split(':')[0] ?? '')
}

/**
 * The path as a copy may read it, decoded once; undefined if nobody can say what it means: what the copy or a gateway would
 * walk up, cut off or put together otherwise is refused before anybody is asked for rights.
 */
export function decodedPath(path: string): string | undefined {
  const decoded = percentDecoded(path)
  if (decoded === undefined || !path.startsWith('/') || path.includes('#')) return undefined
  if (/[\\\p{Cc}]|\/\//u.test(decoded)) return undefined
  return decoded.split('/').some((part) => part === '.' || part === '..') ? undefined : decoded
}

/** As `findTrigger`; ambiguous if a copy that decodes the path would take it for that of another trigger. */
export function findOneTrigger(
  functions: readonly Callable[],
  method: string,
  path: string,
): Found | { kind: 'ambiguous' } {
  const decoded = decodedPath(path)
  if (decoded === undefined) return { kind: 'ambiguous' }
  const found = findTrigger(functions, method, path)
  return isDeepStrictEqual(found, findTrigger(functions, method, decoded)) ? found : { kind: 'ambiguous' }
}
