import { consumerKeyName } from '../../contracts/objectstorage.ts'
import { isSecretOutput } from '../../contracts/references.ts'
import { FINALIZER } from '../../core/labels.ts'
import { done, type Outcome } from '../../core/outcome.ts'
import { ObjectAccessKey, ObjectStorageAccount } from '../../crds/objectstorage.ts'
import { childRights } from '../workload/observers.ts'
import { refOfPass } from '../workload/pass.ts'
import type { InstancePass } from './types.ts'

export const KEY_RIGHTS = childRights([ObjectAccessKey.resource])

/** Returns the keys that the instance needs, with their accounts. */
function wantedKeys({ object }: InstancePass): ReadonlyMap<string, string> {
  const outputs = object.spec.components.flatMap(({ env }) => env.flatMap(({ output }) => output ?? []))
  const accounts = new Set(
    outputs.flatMap((output) =>
      output.collection === ObjectStorageAccount.segment && isSecretOutput(output) ? [output.name] : [],
    ),
  )
  return new Map([...accounts].map((account) => [consumerKeyName(object.metadata, account), account]))
}

/** Deletes keys that are no longer referenced, before any step that can stop the pass, because keys grant access. */
export async function withdrawAccessKeys(pass: InstancePass): Promise<Outcome> {
  await pass.recordChildren.prune(ObjectAccessKey.resource, [...wantedKeys(pass).keys()])
  return done()
}

/**
 * Keeps one key per account whose key is referenced. Deleting a key rotates it: a new one is created, and the
 * components that use it restart.
 */
export async function keepAccessKeys(pass: InstancePass): Promise<Outcome> {
  const { object, recordChildren } = pass
  const { namespace, name } = refOfPass(pass)
  for (const [key, accountName] of wantedKeys(pass)) {
    // A key that is being deleted is re-created once it is gone.
    if ((await recordChildren.get(ObjectAccessKey.resource, namespace, key)) !== undefined) continue
    await recordChildren.create(
      {
        apiVersion: ObjectAccessKey.apiVersion,
        kind: ObjectAccessKey.kind,
        metadata: { name: key, namespace, finalizers: [FINALIZER] },
        spec: {
          accountName,
          description: `Of ${object.kind === 'ContainerInstance' ? 'container instance' : 'app'} ${name}`,
        },
      },
      { resource: ObjectAccessKey.resource },
    )
  }
  return done()
}
