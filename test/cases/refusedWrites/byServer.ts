import { randomUUID } from 'node:crypto'
import { SETTINGS_NAME } from '../../../src/contracts/platformbackups/names.ts'
import { uuidV5 } from '../../../src/core/ids.ts'
import { SYSTEM_NAMESPACE } from '../../../src/core/names.ts'
import { Boundary } from '../../../src/crds/boundaries.ts'
import { PlatformCluster } from '../../../src/crds/clusters.ts'
import { PlatformBackupSettings } from '../../../src/crds/platformBackups.ts'
import { VectorCluster } from '../../../src/crds/vector.ts'
import { errorFromAnswer } from '../../../src/kube/errors.ts'
import {
  boundaryPath,
  dryRun,
  named,
  type RefusalWorld,
  type RefusedWrite,
  refused,
  resourcePath,
  space,
} from './write.ts'

const create = (world: RefusalWorld, spec: object) =>
  world.owner.create(VectorCluster.resource, named(VectorCluster, space(world), 'x', spec), dryRun)

/** Changes the settings of the platform's own backups, which always exist. */
const changeBackups =
  (spec: object) =>
  ({ admin }: RefusalWorld) =>
    admin.mergePatch(
      PlatformBackupSettings.resource,
      { namespace: SYSTEM_NAMESPACE, name: SETTINGS_NAME },
      { spec },
      dryRun,
    )

const vectorPath = (world: RefusalWorld) => resourcePath(world, 'vectorclusters', 'x')
const JSON_BODY = { 'content-type': 'application/json' }
const CSV = { accept: 'text/csv' }
const LARGE = { tags: { large: 'x'.repeat(4_000_000) } }

/** Refusals by the API server itself: by the schema of a kind, or because our authorizer denies it. */
export const BY_SERVER: Readonly<Record<string, RefusedWrite>> = {
  MODEL_BINDING_FAILED: refused({
    write: (world) => create(world, { replicas: 'many' }),
    status: 422,
    says: 'spec.replicas',
    rest: {
      MODEL_BINDING_FAILED: (world) => ({ method: 'POST', path: vectorPath(world), body: { replicas: 'many' } }),
    },
  }),
  'invalid-schedule': refused({
    write: changeBackups({ schedule: { cron: 'at noon' } }),
    status: 422,
    says: 'spec.schedule.cron',
    rest: {},
    elsewhere: {
      'invalid-schedule':
        'the route asks for the schedule of Velero first, which no shared platform has: src/api/platformbackups',
    },
  }),
  'invalid-target': refused({
    write: changeBackups({
      target: { bucket: 'backups', endpoint: 'ftp://store.test', secretName: 'platform-backup-target-a' },
    }),
    status: 422,
    says: 'spec.target.endpoint',
    rest: {
      'invalid-target': () => ({
        method: 'PUT',
        path: '/lifecycle/backups/target',
        body: { bucket: 'backups', endpoint: 'ftp://store.test', accessKeyId: 'id', secretAccessKey: 'key' },
      }),
    },
  }),
  'invalid-cluster': refused({
    write: changeBackups({ suspendedArchives: [{ namespace: '', name: 'orders' }] }),
    status: 422,
    says: 'spec.suspendedArchives',
    rest: {
      'invalid-cluster': () => ({
        method: 'POST',
        path: '/lifecycle/backups/archiving/suspend',
        body: { namespace: '', name: 'orders' },
      }),
    },
  }),
  BAD_REQUEST: refused({
    write: (world) => create(world, { replicas: 100 }),
    status: 422,
    says: 'spec.replicas',
    rest: { BAD_REQUEST: (world) => ({ method: 'POST', path: vectorPath(world), body: { replicas: 100 } }) },
  }),
  BODY_TOO_LARGE: refused({
    write: (world) => create(world, LARGE),
    status: 413,
    rest: { BODY_TOO_LARGE: (world) => ({ method: 'POST', path: vectorPath(world), body: LARGE }) },
  }),
  UNAUTHORIZED: refused({
    write: (world) => world.stranger.remove(VectorCluster.resource, { namespace: space(world), name: 'x' }),
    status: 401,
    rest: { UNAUTHORIZED: (world) => ({ method: 'DELETE', path: vectorPath(world), by: 'stranger' }) },
  }),
  FORBIDDEN: refused({
    write: (world) => world.nobody.remove(VectorCluster.resource, { namespace: space(world), name: 'x' }),
    status: 403,
    rest: { FORBIDDEN: (world) => ({ method: 'DELETE', path: vectorPath(world), by: 'nobody' }) },
  }),
  NOT_FOUND: refused({
    write: (world) =>
      world.owner.mergePatch(VectorCluster.resource, { namespace: space(world), name: 'x' }, { spec: { replicas: 1 } }),
    status: 404,
    rest: { NOT_FOUND: (world) => ({ method: 'PATCH', path: vectorPath(world), body: { replicas: 1 }, by: 'owner' }) },
  }),
  ALREADY_EXISTS: refused({
    prepare: (world) =>
      world.admin.create(VectorCluster.resource, named(VectorCluster, space(world), 'taken', { replicas: 0 })),
    write: (world) =>
      world.owner.create(VectorCluster.resource, named(VectorCluster, space(world), 'taken', { replicas: 1 })),
    status: 409,
    rest: {
      ALREADY_EXISTS: (world) => ({
        method: 'POST',
        path: resourcePath(world, 'vectorclusters', 'taken'),
        body: { replicas: 1 },
        by: 'owner',
      }),
    },
  }),
  'already-exists': refused({
    prepare: async ({ admin }) => {
      const name = `far-${randomUUID().slice(0, 8)}`
      const cluster = { name, displayName: name, domain: 'far.example.com' }
      // REST derives the id of a cluster from its name like this.
      const id = uuidV5(`cluster-name/${name}`)
      await admin.create(PlatformCluster.resource, named(PlatformCluster, undefined, id, cluster))
      return { id, name, cluster }
    },
    write: ({ admin }, { id, cluster }) =>
      admin.create(PlatformCluster.resource, named(PlatformCluster, undefined, id, cluster)),
    status: 409,
    rest: {
      'already-exists': (_, { name }) => ({
        method: 'POST',
        path: '/clusters',
        body: { name, displayName: 'Another' },
      }),
    },
    release: ({ admin }, { id }) => admin.remove(PlatformCluster.resource, { name: id }),
  }),
  NOT_ACCEPTABLE: refused({
    write: async (world) => {
      const { resource } = VectorCluster
      const path = `/apis/${resource.group}/${resource.version}/namespaces/${space(world)}/${resource.plural}`
      const body = JSON.stringify(named(VectorCluster, space(world), 'x', {}))
      const answer = await world.owner.request({ method: 'POST', path, body, headers: { ...JSON_BODY, ...CSV } })
      if (answer.status >= 400) throw errorFromAnswer({ verb: 'create', path }, answer.status, await answer.text())
    },
    status: 406,
    rest: { NOT_ACCEPTABLE: (world) => ({ method: 'POST', path: vectorPath(world), body: {}, headers: CSV }) },
  }),
  CONFLICT: refused({
    write: ({ owner, boundaryId }) =>
      owner.mergePatch(
        Boundary.resource,
        { name: boundaryId },
        { spec: { displayName: 'Other' } },
        { resourceVersion: '1' },
      ),
    status: 409,
    rest: {
      CONFLICT: (world) => ({
        method: 'PATCH',
        path: boundaryPath(world),
        body: { displayName: 'Other' },
        headers: { 'if-match': '"0-1-stale000"' },
        by: 'owner',
      }),
    },
  }),
}
