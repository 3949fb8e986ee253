import type { PlatformKeys } from '../../adapters/platformkeys/port.ts'
import type { KubeObject } from '../../core/object.ts'
import { done, earliest, type Outcome } from '../../core/outcome.ts'
import type { SecretData } from '../../core/secretData.ts'
import type { SecretVault, VaultEntry } from '../../crds/vaults.ts'
import type { Pass } from '../engine/controller.ts'

export type CachedVault = SecretVault & { [key: string]: unknown }
export type CachedEntry = VaultEntry & { [key: string]: unknown }
export type SecretObject = KubeObject & { type?: string; data?: SecretData }

/** State shared between the steps of a pass over an entry. */
export type EntryState = {
  vault?: CachedVault | undefined
  /** The entry as written by this pass so far. */
  entry?: CachedEntry | undefined
  /** Failure of a step that does not stop the others. */
  deferredFailure?: Outcome | undefined
}

export type VaultPass = Pass<typeof SecretVault>
export type EntryPass = Pass<typeof VaultEntry, EntryState>
export type EntryOptions = { keys: PlatformKeys }

/** Returns the entry including this pass's writes. */
export function entryOf(pass: EntryPass): CachedEntry {
  return pass.state.entry ?? (pass.object as CachedEntry)
}

/** Returns the vault of the entry. The first step ensures that it exists. */
export function vaultOf(pass: EntryPass): CachedVault {
  const { vault } = pass.state
  if (vault === undefined) throw new Error(`Entry "${pass.key}" is not in a vault.`)
  return vault
}

export function refOfEntry(pass: EntryPass): { namespace: string; name: string } {
  const { namespace = '', name } = pass.object.metadata
  return { namespace, name }
}

/** Patches the spec at the version that this pass has seen. A concurrent write causes another pass. */
export async function writeSpec(pass: EntryPass, patch: object): Promise<void> {
  const { resourceVersion, uid } = entryOf(pass).metadata
  const written = await pass.records.client.mergePatch<CachedEntry>(
    pass.kind.resource,
    refOfEntry(pass),
    { spec: patch },
    { resourceVersion, uid },
  )
  pass.state.entry = written
}

/** Requeues at the first of these times. */
export function doneWithRequeueAt({ clock }: EntryPass, ...times: readonly (number | undefined)[]): Outcome {
  const time = earliest(...times)
  return done({ after: time && Math.max(1, time - clock.now()) })
}

export type EntryStep = (pass: EntryPass) => Outcome | Promise<Outcome>

/** Runs a step whose failure is only reported at the end: it must not keep old values from being removed. */
export function deferringFailure(step: EntryStep): EntryStep {
  const deferred = async (pass: EntryPass): Promise<Outcome> => {
    const outcome = await step(pass)
    if (outcome.kind !== 'done') pass.state.deferredFailure ??= outcome
    return outcome.kind === 'done' ? outcome : done()
  }
  return Object.defineProperty(deferred, 'name', { value: step.name })
}
