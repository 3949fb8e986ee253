import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { SETTINGS_NAME } from '../../src/contracts/platformbackups/names.ts'
import type { Controller } from '../../src/controllers/engine/controller.ts'
import { FINALIZER } from '../../src/core/labels.ts'
import { SYSTEM_NAMESPACE } from '../../src/core/names.ts'
import type { Placement } from '../../src/crds/define.ts'
import { PlatformBackupSettings } from '../../src/crds/platformBackups.ts'
import { postgresqlCluster } from '../../src/kube/postgresql.ts'
import { seedDatabaseEngine, seedVelero } from '../crashes/seeds.ts'
import { World } from '../crashes/world.ts'

const OUTSIDE: ReadonlySet<Placement> = new Set(['cluster', 'platform', 'boundaryOrPlatform'])
const isSettings = ({ name }: Controller) => name === 'platformbackupsettings'

/** The finalizers of the settings that every platform has. */
async function finalizersOfSettings(prepare: (world: World) => void, spec: object = {}): Promise<readonly string[]> {
  const world = new World((all) => all.filter(isSettings))
  prepare(world)
  await world.lead()
  await world.make(PlatformBackupSettings, SETTINGS_NAME, spec, SYSTEM_NAMESPACE)
  await world.rest()
  const found = await world.find(PlatformBackupSettings.resource, SETTINGS_NAME, SYSTEM_NAMESPACE)
  await world.stop()
  return found?.metadata.finalizers ?? []
}

describe('uninstallation', () => {
  it('is not blocked by backup settings unless Velero or a database has backups', async () => {
    expect(await finalizersOfSettings(() => {})).to.deep.equal([])
    expect(await finalizersOfSettings(({ server }) => seedVelero(server))).to.deep.equal([FINALIZER])
    const database = { namespace: 'shop-0123456789', name: 'orders' }
    const suspended = { suspendedArchives: [database] }
    const withDatabase = ({ server }: World) => {
      seedDatabaseEngine(server)
      const kind = { apiVersion: 'postgresql.cnpg.io/v1', kind: 'Cluster' }
      server.seed(postgresqlCluster, { ...kind, metadata: database, spec: { instances: 1 } })
    }
    expect(await finalizersOfSettings(withDatabase, suspended)).to.deep.equal([FINALIZER])
    // A deleted database stays in the list.
    expect(await finalizersOfSettings(({ server }) => seedDatabaseEngine(server), suspended)).to.deep.equal([])
  })

  it('deletes every resource outside of boundaries that needs the controllers for its deletion', async () => {
    let held: string[] = []
    const world = new World((all) => {
      held = all
        .filter(({ kind, finalize }) => finalize !== undefined && OUTSIDE.has(kind.placement))
        .map(({ kind: { resource } }) => `${resource.plural}.${resource.group}`)
      return all.filter(isSettings)
    })
    await world.lead()
    await world.stop()
    const page = readFileSync(join(import.meta.dirname, '../../docs/install.md'), 'utf8')
    const [, section = ''] = page.split(/^## 11\. Uninstall$/m)
    const deletions = section.match(/kubectl delete .*/g)?.join('\n') ?? ''
    expect(held).to.include('platformbackupsettings.lifecycle.freehold.dev')
    expect(held.filter((name) => !deletions.includes(name))).to.deep.equal([])
  })
})
