import { readFileSync } from 'node:fs'
import { expect } from 'chai'
import { loadAll } from 'js-yaml'
import { ControllerBench } from '../../../test/worlds/controllers.ts'
import { SKIP_ARCHIVING_ANNOTATION } from '../../contracts/platformbackups/archives.ts'
import { RESUMED_ANNOTATION, SETTINGS_NAME, SUSPENDED_ANNOTATION } from '../../contracts/platformbackups/names.ts'
import { SYSTEM_NAMESPACE } from '../../core/names.ts'
import type { KubeObject } from '../../core/object.ts'
import { PlatformBackupSettings } from '../../crds/platformBackups.ts'
import { customResourceDefinition } from '../../kube/builtin.ts'
import { postgresqlCluster } from '../../kube/postgresql.ts'
import { platformBackupController } from './index.ts'

const DEFINITIONS = new URL('../../../deploy/played/cloudnative-pg.yaml', import.meta.url)
const PLACE = { namespace: 'shop', name: 'orders' }
const [BEFORE, THEN, SINCE] = ['2026-01-01T00:00:00Z', '2026-01-02T00:00:00Z', '2026-01-03T00:00:00Z']

describe('suspended archives in PlatformBackupSettings', () => {
  let bench: ControllerBench
  const targets = { test: async () => ({ code: 'Ok', message: '' }) as const }
  const start = async (suspendedArchives: readonly object[]) => {
    bench = new ControllerBench([platformBackupController({ velero: 'velero', targets })])
    for (const definition of loadAll(readFileSync(DEFINITIONS, 'utf8')) as KubeObject[]) {
      const status = { conditions: [{ type: 'Established', status: 'True' }] }
      bench.client.seed(customResourceDefinition, { ...definition, status })
    }
    const spec = PlatformBackupSettings.spec.parse({ suspendedArchives })
    bench.seed(PlatformBackupSettings, SETTINGS_NAME, spec, { namespace: SYSTEM_NAMESPACE })
    await bench.start()
  }
  const database = async (creationTimestamp: string, annotations: Record<string, string> = {}) => {
    const metadata = { ...PLACE, creationTimestamp, annotations }
    bench.client.seed(postgresqlCluster, { apiVersion: 'postgresql.cnpg.io/v1', kind: 'Cluster', metadata })
    await bench.rest()
  }
  const isSuspended = async () =>
    (await bench.find(postgresqlCluster, PLACE.name, PLACE.namespace))?.metadata.annotations?.[
      SKIP_ARCHIVING_ANNOTATION
    ] === 'enabled'
  afterEach(() => bench.stop())

  for (const [title, made, expected, annotations, suspendedAt] of [
    ['suspend a database that is older than suspendedAt', BEFORE, true, {}, THEN],
    ['do not suspend a database that was created after suspendedAt', SINCE, false, {}, THEN],
    [
      'suspend a database that was suspended then and restored since',
      SINCE,
      true,
      { [SUSPENDED_ANNOTATION]: THEN, [SKIP_ARCHIVING_ANNOTATION]: 'enabled' },
      THEN,
    ],
    ['suspend any database of the name without suspendedAt', SINCE, true, {}, undefined],
  ] as const)
    it(title, async () => {
      await start([{ ...PLACE, ...(suspendedAt !== undefined && { suspendedAt }) }])
      await database(made, annotations)
      expect(await isSuspended()).to.equal(expected)
    })

  const held = async () => {
    const settings = await bench.find(PlatformBackupSettings.resource, SETTINGS_NAME, SYSTEM_NAMESPACE)
    return (settings?.metadata.finalizers ?? []).length > 0
  }

  it('keep the finalizer of the settings until the database has resumed with a base backup', async () => {
    await start([])
    await database(BEFORE, { [RESUMED_ANNOTATION]: THEN })
    expect(await held()).to.equal(true)
  })

  it('keep the finalizer of the settings while the database exists', async () => {
    await start([{ ...PLACE, suspendedAt: THEN }])
    expect(await held()).to.equal(false)
    await database(BEFORE)
    expect(await held()).to.equal(true)
  })
})
