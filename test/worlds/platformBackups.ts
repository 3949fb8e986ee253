import { randomUUID } from 'node:crypto'
import { FakeBackupTargets } from '../../src/adapters/backuptarget/fake.ts'
import type { Services } from '../../src/api/http/context.ts'
import { createBackupCluster } from '../../src/api/platformbackups/cluster.ts'
import { kubeSecrets, kubeSecretWriter } from '../../src/api/records/secrets.ts'
import { PLATFORM_SCHEDULE } from '../../src/contracts/platformbackups/names.ts'
import { SYSTEM_NAMESPACE } from '../../src/core/names.ts'
import type { KubeObject, Resource } from '../../src/core/object.ts'
import { PlatformBackupSettings } from '../../src/crds/platformBackups.ts'
import { veleroSchedule } from '../../src/kube/velero.ts'
import { request } from '../make/request.ts'
import { bearer, startFacade } from './facadeServer.ts'

const PATH = '/lifecycle/backups'

/** The routes of platform backups over HTTP, with Velero's objects, a target and volume metrics in memory. */
export class PlatformBackupsWorld {
  readonly owner = randomUUID()
  readonly reader = randomUUID()
  readonly targets = new FakeBackupTargets()
  /** Names of Secrets that the facade has removed. */
  readonly removed: string[] = []
  /** By `namespace/name` of a database. */
  readonly figures = new Map<string, { readyCount: number; volumePercent: number }>()
  facade!: Awaited<ReturnType<typeof startFacade>>

  static async start(): Promise<PlatformBackupsWorld> {
    const world = new PlatformBackupsWorld()
    world.facade = await startFacade({}, { platformBackups: world.#ports() })
    world.facade.grant(world.owner, 'Platform Owner', '/')
    world.facade.grant(world.reader, 'Platform Reader', '/')
    world.settings({})
    return world
  }

  /** Called while the facade serves, so the client exists. */
  #ports(): Services['platformBackups'] {
    const client = () => this.facade.client
    return {
      get cluster() {
        return createBackupCluster(client(), 'velero')
      },
      targets: this.targets,
      logs: { all: async () => this.figures },
      secrets: {
        read: (...given) => kubeSecrets(client()).read(...given),
        put: (...given) => kubeSecretWriter(client()).put(...given),
        remove: async ({ name }) => void this.removed.push(name),
      },
    }
  }

  async call(method: 'get' | 'post' | 'put' | 'delete', path: string, body?: object, who = this.owner) {
    const answer = await request(this.facade.app)[method](`${PATH}${path}`).set('authorization', bearer(who)).send(body)
    return { status: answer.status, body: answer.body, code: answer.body?.code, headers: answer.headers }
  }

  settings(spec: object): PlatformBackupSettings {
    return this.facade.put(
      PlatformBackupSettings,
      'default',
      spec,
      SYSTEM_NAMESPACE,
    ) as unknown as PlatformBackupSettings
  }

  async stored(): Promise<PlatformBackupSettings> {
    const ref = { namespace: SYSTEM_NAMESPACE, name: 'default' }
    return (await this.facade.client.get(PlatformBackupSettings.resource, ref)) as unknown as PlatformBackupSettings
  }

  seed(resource: Resource, name: string, fields: object, metadata: object = {}, namespace = 'velero'): void {
    const { group, version, kind } = resource
    this.facade.client.seed(resource, {
      apiVersion: `${group}/${version}`,
      kind,
      metadata: { name, namespace, ...metadata },
      ...fields,
    } as KubeObject)
  }

  schedule(status: object = { phase: 'Enabled' }): void {
    const spec = { schedule: '0 1 * * *', template: { ttl: '720h0m0s' } }
    this.seed(veleroSchedule, PLATFORM_SCHEDULE, { spec, status })
  }
}

export const hoursAgo = (hours: number) => new Date(Date.now() - hours * 3_600_000).toISOString()
