import { isDeepStrictEqual } from 'node:util'
import type { KubeObject } from '../../src/core/object.ts'
import { until } from './until.ts'

/**
 * kubectl reads each object twice: a status written in between appears once, real drift each time.
 *
 * @param options of `kubectl diff`
 */
export async function noDrift(kubectl: (...args: string[]) => Promise<string>, ...options: string[]): Promise<void> {
  await until('drift is empty', async () => {
    const drift = await kubectl('diff', ...options).catch(({ stdout, message }) => String(stdout || message))
    if (drift !== '') throw new Error(drift)
    return true
  })
}

/**
 * The fields of a manifest that the stored object does not have as written. Argo CD compares types without a built-in
 * schema like this, and so does kubectl apply: maps field by field, with defaults allowed; lists as a whole.
 */
export function lostFields(wanted: KubeObject, live: KubeObject): string[] {
  const { labels, annotations } = wanted.metadata
  const parts = { spec: wanted.spec, labels, annotations }
  const held = { spec: live.spec, labels: live.metadata.labels, annotations: live.metadata.annotations }
  return lost(parts, held, '')
}

function lost(wanted: unknown, live: unknown, path: string): string[] {
  if (typeof wanted !== 'object' || wanted === null || Array.isArray(wanted)) {
    return isDeepStrictEqual(wanted, live) ? [] : [`${path} is ${JSON.stringify(live)}`]
  }
  return Object.entries(wanted).flatMap(([name, value]) =>
    value === undefined ? [] : lost(value, (live as Record<string, unknown> | undefined)?.[name], `${path}.${name}`),
  )
}
