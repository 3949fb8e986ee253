import { MANAGED_BY, MANAGED_BY_LABEL } from '../core/labels.ts'
import { isUuid, SYSTEM_NAMESPACE } from '../core/names.ts'
import type { KubeObject } from '../core/object.ts'
import { secretData } from '../core/secretData.ts'
import { PlatformClient } from '../crds/identity.ts'
import { RoleAssignment } from '../crds/rbac.ts'
import { CLIENT_SECRET_KEY } from './clients.ts'

export type FirstOwner = { clientId: string; clientSecret: string; displayName: string }

/**
 * Returns the initial service account of an installation: a Secret, the PlatformClient that refers to it, and its
 * assignment as Owner of everything. They are applied in this order, so that the client never exists without its
 * secret.
 * @throws Error if the clientId is not a uuid, or the secret is empty
 */
export function firstOwner({ clientId, clientSecret, displayName }: FirstOwner): KubeObject[] {
  if (!isUuid(clientId)) throw new Error(`The client id of the first owner must be a uuid in lower case: ${clientId}`)
  if (clientSecret === '') throw new Error('The secret of the first owner is empty.')
  const namespace = SYSTEM_NAMESPACE
  const labels = { [MANAGED_BY_LABEL]: MANAGED_BY }
  const secretName = `client-${clientId}`
  return [
    {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { namespace, name: secretName, labels },
      type: 'Opaque',
      data: secretData({ [CLIENT_SECRET_KEY]: clientSecret }),
    },
    {
      apiVersion: PlatformClient.apiVersion,
      kind: PlatformClient.kind,
      metadata: { namespace, name: clientId, labels },
      spec: { displayName, description: 'The first owner, created at installation', isEnabled: true, secretName },
    },
    ownerAssignment(clientId, 'ServicePrincipal'),
  ]
}

/** Returns the assignment of a principal as Owner of everything. */
export function ownerAssignment(principalId: string, principalType: 'ServicePrincipal' | 'User'): KubeObject {
  return {
    apiVersion: RoleAssignment.apiVersion,
    kind: RoleAssignment.kind,
    metadata: {
      namespace: SYSTEM_NAMESPACE,
      name: `owner-${principalId}`,
      labels: { [MANAGED_BY_LABEL]: MANAGED_BY },
    },
    spec: {
      principalId,
      principalType,
      roleDefinitionName: 'Owner',
      scope: '/',
      reason: 'The first owner, created at installation',
    },
  }
}
