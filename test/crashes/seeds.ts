import { readFileSync } from 'node:fs'
import { loadAll } from 'js-yaml'
import { BUILD_NAMESPACE } from '../../src/contracts/builds/progress.ts'
import { storeUserName } from '../../src/contracts/objectstorage.ts'
import { archiveServerName, relationalNames } from '../../src/contracts/relational.ts'
import { incarnationHash } from '../../src/contracts/rollouts/snapshot.ts'
import { INCARNATION_ANNOTATION } from '../../src/core/labels.ts'
import { boundaryNamespace, groupNamespace, SYSTEM_NAMESPACE } from '../../src/core/names.ts'
import { boundaryNamespaceObject, groupNamespaceObject } from '../../src/core/namespaces.ts'
import type { KubeObject, Resource } from '../../src/core/object.ts'
import { Boundary } from '../../src/crds/boundaries.ts'
import { PlatformCluster } from '../../src/crds/clusters.ts'
import { DEFAULT_PLANS } from '../../src/crds/defaultPlans.ts'
import type { AnyKind } from '../../src/crds/define.ts'
import { ManagedIdentity } from '../../src/crds/managedidentities.ts'
import { ObjectAccessKey } from '../../src/crds/objectstorage.ts'
import { ComputePlan } from '../../src/crds/plans.ts'
import { RelationalCluster } from '../../src/crds/relational.ts'
import { ResourceGroup } from '../../src/crds/resourcegroups.ts'
import { RolloutExecution } from '../../src/crds/rollouts.ts'
import { initialOwnerAssignment } from '../../src/desired/boundaries.ts'
import { principalOf } from '../../src/desired/managedidentities.ts'
import { customResourceDefinition, namespace, secret, storageClass } from '../../src/kube/builtin.ts'
import { FLUX_RESOURCES } from '../../src/kube/flux.ts'
import { VELERO_RESOURCES, veleroBackupStorageLocation, volumeSnapshotClass } from '../../src/kube/velero.ts'
import { definitionOf } from '../worlds/lifecycleWorld.ts'
import type { PlayedApiServer } from './apiServer.ts'

export const BOUNDARY_ID = '3d1f8a52-7a4e-4b52-9a55-0d6c8f3f9b01'
export const GROUP = 'shop'
export const HOME = groupNamespace(BOUNDARY_ID, GROUP)
export const OUTER = boundaryNamespace(BOUNDARY_ID)

const DEFINITIONS = loadAll(
  readFileSync(new URL('../../deploy/played/cloudnative-pg.yaml', import.meta.url), 'utf8'),
) as KubeObject[]

/** What a cluster has before the platform comes. */
export function seedPlatform(server: PlayedApiServer): void {
  for (const name of [SYSTEM_NAMESPACE, BUILD_NAMESPACE, 'kube-system'])
    server.seed(namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name, uid: `uid-of-${name}` } })
  const standard = { apiVersion: 'storage.k8s.io/v1', kind: 'StorageClass', metadata: { name: 'standard' } }
  server.seed(storageClass, { ...standard, allowVolumeExpansion: true, provisioner: 'disks.example.com' })
  seedDatabaseEngine(server)
  server.seed(secret, {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'freehold-backup-target', namespace: SYSTEM_NAMESPACE },
    data: { 'access-key-id': 'aWQ=', 'secret-access-key': 'a2V5' },
  })
}

/** An administrator installs CloudNativePG. */
export function seedDatabaseEngine(server: PlayedApiServer): void {
  const established = { conditions: [{ type: 'Established', status: 'True' }] }
  for (const definition of DEFINITIONS) server.seed(customResourceDefinition, { ...definition, status: established })
}

/** The same with Velero and a place for backups. */
export function seedVelero(server: PlayedApiServer): void {
  server.seed(namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'velero', uid: 'uid-of-velero' } })
  const ofVelero = { apiVersion: 'velero.io/v1', kind: veleroBackupStorageLocation.kind }
  server.seed(veleroBackupStorageLocation, {
    ...ofVelero,
    metadata: { name: 'default', namespace: 'velero' },
    spec: { default: true },
    status: { phase: 'Available' },
  })
  seedTypes(server, VELERO_RESOURCES)
  seedSnapshots(server)
}

/** An administrator installs what takes snapshots of volumes. */
export function seedSnapshots(server: PlayedApiServer): void {
  server.seed(volumeSnapshotClass, {
    apiVersion: 'snapshot.storage.k8s.io/v1',
    kind: volumeSnapshotClass.kind,
    metadata: { name: 'snapshots' },
    driver: 'disks.example.com',
  })
  seedTypes(server, [volumeSnapshotClass])
}

/** An administrator installs what serves these types. */
export function seedTypes(server: PlayedApiServer, types: readonly Resource[]): void {
  const established = { conditions: [{ type: 'Established', status: 'True' }] }
  for (const { group, version, plural } of types)
    server.seed(customResourceDefinition, {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: `${plural}.${group}` },
      spec: { versions: [{ name: version, served: true }] },
      status: established,
    })
}

/** An administrator installs Flux. */
export function seedFlux(server: PlayedApiServer): void {
  for (const resource of FLUX_RESOURCES) server.seed(customResourceDefinition, definitionOf(resource))
}

/** What a platform begins with. */
export function seedDefaults(server: PlayedApiServer): void {
  for (const [name, spec] of Object.entries(DEFAULT_PLANS)) seed(server, ComputePlan, name, spec)
  const here = { displayName: 'here', region: '', domain: 'cloud.example.org', isPlatform: true }
  seed(server, PlatformCluster, '22222222-2222-4222-8222-222222222222', here)
}

function seed(server: PlayedApiServer, kind: AnyKind, name: string, spec: object, space?: string): KubeObject {
  const annotations = { [INCARNATION_ANNOTATION]: `life-of-${name}` }
  const metadata = { name, annotations, ...(space === undefined ? {} : { namespace: space }) }
  const whole = kind.spec.parse(spec) as object
  return server.seed(kind.resource, { apiVersion: kind.apiVersion, kind: kind.kind, metadata, spec: whole })
}

/** A boundary with a group as their controllers leave them, for flows that are not about these. */
export function seedGroup(server: PlayedApiServer): void {
  const boundary = seed(server, Boundary, BOUNDARY_ID, { displayName: 'Shop' })
  server.seed(namespace, boundaryNamespaceObject(boundary))
  const group = seed(server, ResourceGroup, GROUP, {}, OUTER)
  const incarnation = group.metadata.annotations?.[INCARNATION_ANNOTATION] ?? ''
  server.seed(namespace, groupNamespaceObject(BOUNDARY_ID, GROUP, incarnation))
}

/** Names that are made from an incarnation, by what they are. */
export function derivedNames(object: KubeObject, incarnation: string): Map<string, string> {
  const names = new Map<string, string>()
  const name = (text: string, what: string) => names.set(text, `${what} of ${object.metadata.name}`)
  if (object.kind === Boundary.kind) {
    const assignment = initialOwnerAssignment(object as unknown as Boundary, incarnation)
    if (assignment !== undefined) name(assignment.metadata.name, 'first assignment')
  }
  if (object.kind === ObjectAccessKey.kind) name(storeUserName(incarnation), 'store user')
  if (object.kind === ManagedIdentity.kind)
    name(principalOf(object as unknown as ManagedIdentity, incarnation), 'principal')
  if (object.kind === RelationalCluster.kind)
    name(archiveServerName(relationalNames(object.metadata.name).cluster, incarnation), 'archive')
  if (object.kind === RolloutExecution.kind) name(incarnationHash(incarnation), 'mark')
  return names
}
