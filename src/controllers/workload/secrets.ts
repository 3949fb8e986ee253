import type { KubeObject } from '../../core/object.ts'
import { done, type Outcome, waiting } from '../../core/outcome.ts'
import type { SecretObject } from '../../core/secretData.ts'
import { secret } from '../../kube/builtin.ts'
import { absent, isKubeError } from '../../kube/errors.ts'
import type { Pass } from '../engine/controller.ts'
import { refOfPass } from './pass.ts'

/** Milliseconds until the permissions for Secrets of a new namespace are checked again; no watch reports them. */
export const RIGHTS_RETRY_MS = 2_000

export function rightsMissing(): Outcome {
  return waiting(
    'WaitingForGroup',
    'Access to the Secrets of this namespace has not been granted yet.',
    RIGHTS_RETRY_MS,
  )
}

const whereForbidden =
  <Result>(fallback: () => Result) =>
  (error: unknown): Result => {
    if (!isKubeError(error, 'Forbidden')) throw error
    return fallback()
  }

/** Runs work that needs rights on Secrets, or waits for them: they come with the RoleBinding of a new group. */
export function withSecretRights<Result>(work: () => Promise<Result>): Promise<Result | Outcome> {
  return work().catch(whereForbidden(rightsMissing))
}

/** Reads a Secret from the API server, never from a cache: overwritten content is lost. Undefined if absent. */
export function readSecret(
  { workloads }: Pick<Pass, 'workloads'>,
  namespace: string,
  name: string,
): Promise<SecretObject | undefined> {
  return workloads.client.get<SecretObject>(secret, { namespace, name }).catch(absent)
}

/** Runs work that deletes Secrets. Rights on Secrets are removed with the namespace, and so are the Secrets. */
export async function ignoreMissingRights(work: () => Promise<unknown>): Promise<void> {
  await work().catch(whereForbidden(() => undefined))
}

/** Deletes a Secret next to the resource in `records`, whichever cluster its workload is on. */
export function removeRecordSecret(nameOf: (resource: string) => string) {
  return async function removeRecordSecret(pass: Pick<Pass, 'recordChildren' | 'object'>): Promise<Outcome> {
    const { namespace, name } = refOfPass(pass)
    await ignoreMissingRights(() => pass.recordChildren.remove(secret, namespace, nameOf(name)))
    return done()
  }
}

/**
 * Keeps a Secret whose content would be lost if overwritten. The cached Secret suffices if it stays unchanged, and an
 * absent one is created; every other decision is based on the API server's version.
 *
 * @param decide returns the value to store; the same value for no change
 * @param load reads the Secret from the API server; by default the one with this name
 */
export async function keepSecret<T>(
  pass: Pick<Pass, 'object' | 'children' | 'workloads'>,
  name: string,
  {
    decode,
    decide,
    build,
    load = readSecret,
  }: {
    decode: (data: SecretObject['data']) => T | undefined
    decide: (stored: T | undefined) => T | Promise<T>
    build: (value: T) => KubeObject
    load?: (pass: Pick<Pass, 'workloads'>, namespace: string, name: string) => Promise<SecretObject | undefined>
  },
): Promise<T> {
  const { namespace } = refOfPass(pass)
  const held = await pass.children.get<SecretObject>(secret, namespace, name)
  const stored = decode(held?.data)
  const wanted = await decide(stored)
  if (wanted === stored) {
    await pass.children.ensure(build(wanted), { resource: secret })
    return wanted
  }
  if (held === undefined && (await pass.children.create(build(wanted), { resource: secret })) !== undefined)
    return wanted
  const kept = await decide(decode((await load(pass, namespace, name))?.data))
  await pass.children.ensure(build(kept), { resource: secret })
  return kept
}
