import { identityCopyName, managedIdentityId } from '../../contracts/managedIdentities.ts'
import { FINALIZER } from '../../core/labels.ts'
import { type ObjectMeta, objectKey, refOf } from '../../core/object.ts'
import { done, type Outcome, waiting } from '../../core/outcome.ts'
import type { AnyKind } from '../../crds/define.ts'
import { isWorkloadOf, ManagedIdentity } from '../../crds/managedidentities.ts'
import { identityOwnership } from '../../desired/managedidentities.ts'
import { secret } from '../../kube/builtin.ts'
import { ignoreKubeAlreadyExists } from '../../kube/errors.ts'
import type { Observed, Rights } from '../engine/controller.ts'
import { related } from '../engine/lookups.ts'
import { otherClusterOf } from '../engine/workloadLocation.ts'
import { refOfPass, type WorkloadPass } from './pass.ts'
import { readSecret, withSecretRights } from './secrets.ts'

type Cached = ManagedIdentity & { [key: string]: unknown }

/** A pass over a resource that can have an identity. */
type IdentifiedPass = Pick<WorkloadPass, 'kind' | 'records' | 'children'> & {
  readonly object: { readonly metadata: ObjectMeta; readonly spec: { readonly managedIdentity: boolean } }
  /** Set to the Secret with the credentials. */
  readonly state: { identitySecret?: string | undefined }
}

export const IDENTITY_RIGHTS: Rights = { resource: ManagedIdentity.resource, verbs: ['create', 'patch'] }

export function identityObserver({ segment }: AnyKind): Observed {
  return {
    resource: ManagedIdentity.resource,
    keysOf: ({ metadata, spec }) => {
      const { resourceType, resourceName = '' } = spec as Partial<ManagedIdentity['spec']>
      return resourceType === segment ? [objectKey(metadata.namespace, resourceName)] : []
    },
  }
}

function identityOf({ kind, object, records }: IdentifiedPass): Cached | undefined {
  const { namespace } = refOfPass({ object })
  return related(records.cache(ManagedIdentity), 'parent', namespace, object.metadata.name).find(
    (each) => each.spec.resourceType === kind.segment && isWorkloadOf(object, each),
  )
}

/**
 * Removes unwanted credentials; role assignments of the identity stay. Runs before any step that can stop the pass,
 * because credentials grant access.
 */
export async function withdrawIdentity(pass: IdentifiedPass): Promise<Outcome> {
  if (pass.object.spec.managedIdentity) return done()
  const found = identityOf(pass)
  if (found?.spec.mounted === true) await setMounted(pass, found, false)
  return withSecretRights(() => removeIdentity(pass))
}

/** Creates the identity of a resource, with its credentials in the group. It is deleted with the resource. */
export async function keepIdentity(pass: IdentifiedPass): Promise<Outcome> {
  if (!pass.object.spec.managedIdentity) return done()
  const found = identityOf(pass)
  if (found === undefined) return createIdentity(pass)
  if (!found.spec.mounted) await setMounted(pass, found, true)
  if (found.spec.mounted !== true || found.status?.mounted !== true)
    return waiting('WaitingForDependency', 'The credentials of its managed identity are being made.')
  pass.state.identitySecret = identityCopyName(found.metadata.name)
  return isElsewhere(pass)
    ? withSecretRights(() => copyCredentials(pass, identityCopyName(found.metadata.name)))
    : done()
}

const isElsewhere = ({ object, records }: IdentifiedPass) => otherClusterOf(object, records) !== undefined

/** Copies the credentials to another cluster for its pods. A new version wakes the resource through its identity. */
async function copyCredentials({ object, records, children }: IdentifiedPass, name: string): Promise<Outcome> {
  const { namespace } = refOfPass({ object })
  const localSecret = await readSecret({ workloads: records }, namespace, name)
  if (localSecret === undefined)
    return waiting('WaitingForDependency', 'The credentials of its managed identity are being made.')
  const desired = {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name, namespace },
    type: 'Opaque',
    data: localSecret.data,
  }
  await children.ensure(desired, { resource: secret })
  return done()
}

/** Deletes the copied credentials from another cluster. On the platform's own cluster they belong to the identity. */
export async function removeIdentity(pass: IdentifiedPass): Promise<Outcome> {
  if (!isElsewhere(pass)) return done()
  const { namespace } = refOfPass(pass)
  const id = identityOf(pass)?.metadata.name ?? managedIdentityId(namespace, pass.object.metadata.uid ?? '')
  await pass.children.remove(secret, namespace, identityCopyName(id))
  return done()
}

async function createIdentity({ object, records, ...pass }: IdentifiedPass): Promise<Outcome> {
  const { namespace, name } = refOfPass({ object, ...pass })
  const resourceUid = object.metadata.uid ?? ''
  const identity = {
    apiVersion: ManagedIdentity.apiVersion,
    kind: ManagedIdentity.kind,
    // With the finalizer from the start: an identity deleted before its controller saw it would leave its account
    // behind. And with an owner: if the resource is deleted before either was seen, the identity would stay for ever.
    metadata: {
      ...identityOwnership({ apiVersion: pass.kind.apiVersion, kind: pass.kind.kind, metadata: object.metadata }),
      ...{ name: managedIdentityId(namespace, resourceUid), namespace, finalizers: [FINALIZER] },
    },
    spec: {
      resourceName: name,
      resourceType: pass.kind.segment as ManagedIdentity['spec']['resourceType'],
      resourceUid,
      secretVersion: 1,
      mounted: true,
    },
  }
  // If the cache is stale, its update wakes us.
  await records.client.create(ManagedIdentity.resource, identity).catch(ignoreKubeAlreadyExists)
  return waiting('WaitingForDependency', 'Its managed identity is being made.')
}

/** Changes `mounted` together with the secret version: old credentials could not be read, or were known to the code. */
async function setMounted({ records }: IdentifiedPass, found: Cached, mounted: boolean): Promise<void> {
  if (found.metadata.deletionTimestamp !== undefined) return
  const { uid, resourceVersion } = found.metadata
  const patch = { spec: { mounted, secretVersion: found.spec.secretVersion + 1 } }
  await records.client.mergePatch(ManagedIdentity.resource, refOf(found), patch, { uid, resourceVersion })
}
