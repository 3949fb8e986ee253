import {
  CLIENT_SECRET_KEY,
  IDENTITY_FILES,
  identityCopyName,
  managedIdentityPrincipal,
  managedIdentitySecretName,
  type TokenEndpoint,
} from '../contracts/managedIdentities.ts'
import {
  BOUNDARY_LABEL,
  GROUP_LABEL,
  INCARNATION_ANNOTATION,
  MANAGED_BY,
  MANAGED_BY_LABEL,
  OWNER_INCARNATION_ANNOTATION,
  OWNER_KIND_LABEL,
  OWNER_NAME_LABEL,
  OWNER_NAMESPACE_ANNOTATION,
} from '../core/labels.ts'
import { SYSTEM_NAMESPACE } from '../core/names.ts'
import type { KubeObject } from '../core/object.ts'
import { type SecretData, secretData, secretText } from '../core/secretData.ts'
import { PlatformClient } from '../crds/identity.ts'
import { ManagedIdentity } from '../crds/managedidentities.ts'

type Place = { boundaryId?: string; resourceGroup?: string }

export function principalOf({ metadata }: ManagedIdentity, incarnation: string): string {
  return managedIdentityPrincipal(metadata.namespace ?? '', metadata.name, incarnation)
}

/**
 * Owner metadata that makes the garbage collector delete an identity with its resource, even if the controllers are
 * down. Not a controller reference, because the resource's own controller does not manage the identity.
 */
export function identityOwnership({
  apiVersion,
  kind,
  metadata,
}: Pick<KubeObject, 'apiVersion' | 'kind' | 'metadata'>) {
  const { uid = '', name, annotations } = metadata
  return {
    ownerReferences: [{ apiVersion, kind, name, uid, controller: false, blockOwnerDeletion: false }],
    annotations: { [OWNER_INCARNATION_ANNOTATION]: annotations?.[INCARNATION_ANNOTATION] || uid },
  }
}

/** The service account of the identity. It becomes effective with the Secret of the wanted version. */
export function identityClient(identity: ManagedIdentity, incarnation: string): KubeObject {
  const { resourceName, resourceType, secretVersion } = identity.spec
  const principalId = principalOf(identity, incarnation)
  return {
    apiVersion: PlatformClient.apiVersion,
    kind: PlatformClient.kind,
    metadata: { name: principalId, namespace: SYSTEM_NAMESPACE },
    spec: {
      displayName: `${resourceType}/${resourceName}`,
      description: `Managed identity ${identity.metadata.name}`,
      isEnabled: true,
      secretName: managedIdentitySecretName(principalId, secretVersion),
    },
  }
}

/** The credentials of the wanted version. Admission lets the controllers create and delete Secrets so labelled. */
export function identitySecret(
  identity: ManagedIdentity,
  incarnation: string,
  { boundaryId, resourceGroup }: Place,
  clientSecret: string,
): KubeObject {
  const { name, namespace = '' } = identity.metadata
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: {
      name: managedIdentitySecretName(principalOf(identity, incarnation), identity.spec.secretVersion),
      namespace: SYSTEM_NAMESPACE,
      labels: {
        [MANAGED_BY_LABEL]: MANAGED_BY,
        [OWNER_KIND_LABEL]: ManagedIdentity.kind,
        [OWNER_NAME_LABEL]: name,
        ...(boundaryId === undefined ? {} : { [BOUNDARY_LABEL]: boundaryId }),
        ...(resourceGroup === undefined ? {} : { [GROUP_LABEL]: resourceGroup }),
      },
      annotations: { [OWNER_INCARNATION_ANNOTATION]: incarnation, [OWNER_NAMESPACE_ANNOTATION]: namespace },
    },
    type: 'Opaque',
    immutable: true,
    data: secretData({ [CLIENT_SECRET_KEY]: clientSecret }),
  }
}

/** Content of the identity's Secret in the group's namespace. */
export type IdentityCopy = { version: number; principalId: string; clientSecret: string }

export function decodeCopy(data: SecretData | undefined): IdentityCopy | undefined {
  const text = (file: keyof typeof IDENTITY_FILES) => secretText(data, IDENTITY_FILES[file]) ?? ''
  const [version, principalId, clientSecret] = [Number(text('version')), text('clientId'), text('clientSecret')]
  return version > 0 && principalId !== '' && clientSecret !== '' ? { version, principalId, clientSecret } : undefined
}

/** The credentials as files for the resource's pods. */
export function identityCopy(
  { metadata }: ManagedIdentity,
  { version, principalId, clientSecret }: IdentityCopy,
  signIn: TokenEndpoint,
): KubeObject {
  const { name, namespace = '' } = metadata
  const files = { ...signIn, clientId: principalId, clientSecret, version: String(version) }
  const texts = Object.entries(IDENTITY_FILES).map(([field, file]) => [file, files[field as keyof typeof files]])
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: identityCopyName(name), namespace },
    type: 'Opaque',
    data: secretData(Object.fromEntries(texts)),
  }
}

/** Bounds the old versions to delete if the status was lost: each costs a request. */
const MAX_OLD_SECRETS = 8

/** Returns the Secret names of versions before `below`, starting at the version last known to be in force. */
export function olderSecrets(principalId: string, activeVersion: number | undefined, below: number): string[] {
  const from = Math.max(1, activeVersion ?? 1, below - MAX_OLD_SECRETS)
  return Array.from({ length: Math.max(0, below - from) }, (_, index) =>
    managedIdentitySecretName(principalId, from + index),
  )
}
