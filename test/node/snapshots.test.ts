import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { delimiter, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { silentProgress } from '../../scripts/controlplane/index.ts'
import type { ProcessGroup } from '../../scripts/controlplane/processes.ts'
import { MARIADB } from '../../scripts/node/library.ts'
import { backupScheduleName } from '../../src/contracts/backups.ts'
import { groupNamespace } from '../../src/core/names.ts'
import type { KubeObject } from '../../src/core/object.ts'
import type { KubeClient } from '../../src/kube/client.ts'
import { volumeSnapshotClass } from '../../src/kube/velero.ts'
import { blocksOf } from '../pages/blocks.ts'
import { ROOT } from '../pages/pages.ts'
import { kubectl } from '../worlds/kubectl.ts'
import { call, expectCall, makeBoundary, makeGroup, until } from '../worlds/platform.ts'
import { administrator, testPlatform } from '../worlds/tenant.ts'
import { installBackupStore } from './backupStore.ts'
import { DRIVER, installSnapshots, SNAPSHOTTABLE } from './csi.ts'
import { pushImages, pushShell, SHELL_IMAGE } from './shell.ts'
import { installVeleroOnNode, type Velero } from './velero.ts'

type Instance = { status: string; phase: string; statusMessage: string; backupEnabled?: boolean }
type Backup = { phase: string; startedAt: string; message: string | null }
type Policy = { status: string; lastBackup: Backup | null; backups: Backup[] }
type Place = { base: string; namespace: string }

/** Each night: the tests do not wait for it. */
const KEPT = { schedule: '0 2 * * *', retentionDays: 7, keepLast: 1 }
/** What a group of each of two boundaries has. */
const SITE = 'containerinstances/shop'
const BOOKS = 'sqlclusters/books'
/** A page in the volume of a container. */
const PAGE = '/srv/site/page'

/** @backups Storage, its snapshots, Velero and its node agent are real. */
describe('backups of volumes, on a node', () => {
  let client: KubeClient
  let storage: ProcessGroup
  let velero: Velero
  let one: Place
  let other: Place

  before(async () => {
    client = await administrator()
    const search = { progress: silentProgress, signal: undefined }
    const bucket = await installBackupStore(client)
    velero = await installVeleroOnNode(client, search)
    storage = await installSnapshots(client, search)
    await pushImages(MARIADB)
    await pushShell()
    await expectCall(202, 'PUT', '/lifecycle/backups/target', bucket)
    await until('Velero reaches the target', async () => {
      const { body } = await expectCall<{ status: string; message: string }>(200, 'GET', '/lifecycle/backups/target')
      if (body.status === 'Available') return true
      throw new Error(`${body.status}: ${body.message}`)
    })
    one = await makePlace()
    other = await makePlace()
    await expectCall(201, 'POST', `${one.base}/${BOOKS}`, {
      engine: 'MariaDb',
      databaseName: 'shop',
      storageClass: SNAPSHOTTABLE,
    })
    for (const place of [one, other]) await makeSite(place)
    await untilServed()
    await ask('CREATE TABLE kept (word TEXT); INSERT INTO kept VALUES ("before")')
  })
  after(async () => {
    await client?.close()
    await storage?.stop()
  })

  async function makePlace(): Promise<Place> {
    const { id } = await makeBoundary()
    const { name } = await makeGroup(id, 'shop')
    return { base: `/boundaries/${id}/resourcegroups/${name}/resources`, namespace: groupNamespace(id, name) }
  }
  async function makeSite({ base }: Place): Promise<void> {
    const web = {
      name: 'web',
      image: SHELL_IMAGE,
      command: ['sh', '-c', 'trap exit TERM; while true; do sleep 1 & wait; done'],
      mounts: [{ volume: 'site', path: dirname(PAGE) }],
    }
    const volumes = [{ name: 'site', kind: 'Persistent', size: '100Mi', storageClass: SNAPSHOTTABLE }]
    await expectCall(201, 'POST', `${base}/${SITE}`, { components: [web], volumes })
    await untilIt(`${base}/${SITE}`, 'runs', ({ status }) => status === 'Running')
  }
  const untilIt = (path: string, sentence: string, is: (instance: Instance) => boolean) =>
    until(`it ${sentence}`, async () => {
      const { body } = await expectCall<Instance>(200, 'GET', path)
      if (is(body)) return body
      throw new Error(`${body.status} ${body.phase}: ${body.statusMessage}`)
    })
  async function untilServed(): Promise<void> {
    const path = `${one.base}/${BOOKS}`
    await untilIt(path, 'runs', ({ status }) => status === 'Running')
    await until('the logins are made', async () => (await call('GET', `${path}/editor/schemas`)).status === 200)
  }

  const inPod = ({ namespace }: Place, pod: string, command: string) =>
    kubectl(['exec', '-n', namespace, pod, '--', 'sh', '-c', command])
  const MARIADB_SHELL = 'mariadb --no-defaults -u root -p"$MARIADB_ROOT_PASSWORD" --batch --skip-column-names shop'
  /** The output of a statement at the engine itself. */
  const ask = (statement: string) => inPod(one, 'sqli-books-0', `${MARIADB_SHELL} --execute='${statement}'`)
  const write = (place: Place, text: string) => inPod(place, 'deploy/cti-shop--web', `echo ${text} > ${PAGE} && sync`)
  const read = (place: Place, suffix = '') => inPod(place, 'deploy/cti-shop--web', `cat ${PAGE}${suffix}`)

  const scheduleOf = (kind: string, { namespace }: Place, name: string) =>
    backupScheduleName({ kind, metadata: { namespace, name } })
  /** A backup of a Schedule, by hand. */
  async function take(name: string, schedule: string): Promise<void> {
    await velero('backup', 'create', name, '--from-schedule', schedule, '--wait')
    expect(await kubectl(['get', 'backup', name, '-n', 'velero', '-o', 'jsonpath={.status.phase}'])).to.equal(
      'Completed',
    )
  }
  async function remove({ base }: Place, path: string): Promise<void> {
    await expectCall(202, 'DELETE', `${base}/${path}`)
    await until('it is deleted', async () => (await call('GET', `${base}/${path}`)).status === 404)
  }
  const policyOf = async ({ base }: Place) =>
    (await expectCall<Policy>(200, 'GET', `${base}/${SITE}/backup-policy`)).body

  /** What a page of the documentation has an administrator paste to restore. */
  async function restoreAsOn(
    page: string,
    { namespace }: Place,
    backup: string,
    { words = 'restore create', adapt = (commands: string) => commands } = {},
  ) {
    const blocks = blocksOf(await readFile(join(ROOT, 'docs/areas', page), 'utf8'))
    const [block] = blocks.filter(({ commands }) => commands.includes(words))
    const { kubectlPath, kubeconfig } = testPlatform()
    const PATH = [dirname(kubectlPath), dirname(velero.program), process.env.PATH].join(delimiter)
    const env = { ...process.env, PATH, KUBECONFIG: kubeconfig, namespace, backup }
    await promisify(execFile)('bash', ['-c', adapt(block?.commands ?? 'false')], { env })
  }
  /** Names of objects in the whole cluster. */
  const named = async (...words: string[]) =>
    (await kubectl(['get', ...words, '-o', 'name', '--ignore-not-found'])).split('\n').filter(Boolean)
  const untilNone = (...words: string[]) =>
    until(`there are no ${words.join(' ')}`, async () => {
      const found = await named(...words)
      if (found.length === 0) return true
      throw new Error(found.join())
    })

  it('takes snapshots as soon as there is a VolumeSnapshotClass', async () => {
    const refused = async (method: 'PUT' | 'PATCH', path: string, body: object) => {
      const answer = await expectCall<{ code: string }>(422, method, `${one.base}/${path}`, body)
      expect(answer.body.code).to.equal('SNAPSHOT_CLASS_MISSING')
    }
    await refused('PUT', `${SITE}/backup-policy`, KEPT)
    await refused('PATCH', BOOKS, { backupEnabled: true })
    await client.create(volumeSnapshotClass, {
      apiVersion: 'snapshot.storage.k8s.io/v1',
      kind: 'VolumeSnapshotClass',
      metadata: { name: 'snapshots' },
      driver: DRIVER,
      deletionPolicy: 'Delete',
    } as KubeObject)
    await untilIt(`${one.base}/${BOOKS}`, 'is backed up', ({ backupEnabled }) => backupEnabled === true)
    for (const { base } of [one, other])
      await until('the policy is taken', async () => {
        const { status } = await call('PUT', `${base}/${SITE}/backup-policy`, KEPT)
        return status === 200
      })
  })

  it('restores a SQL instance that was backed up under load', async () => {
    await ask('CREATE TABLE counted (id INT PRIMARY KEY)')
    const rows = 'i=0; while true; do i=$((i+1)); echo "INSERT INTO counted VALUES ($i);"; done'
    // It ends with the engine.
    const load = inPod(one, 'sqli-books-0', `(${rows}) | ${MARIADB_SHELL}`).catch(String)
    const count = async () => Number(await ask('SELECT COUNT(*) FROM counted'))
    await until('rows are written', async () => (await count()) > 100)
    const before = await count()
    await take('books', scheduleOf('SqlInstance', one, 'books'))
    const after = await count()
    expect(after).to.be.greaterThan(before)
    await ask('UPDATE kept SET word = "after"')
    await restoreAsOn('sql.md', one, 'books')
    await load
    await untilServed()
    expect(await ask('SELECT word FROM kept')).to.equal('before\n')
    const [rowsKept, last] = (await ask('SELECT COUNT(*), MAX(id) FROM counted')).trim().split('\t').map(Number)
    expect(rowsKept, 'no row is missing between others').to.equal(last)
    expect(rowsKept).to.be.within(before, after)
    expect(await ask('CHECK TABLE counted, kept')).to.not.match(/error|corrupt/i)
  })

  it('restores a container instance, and leaves the same of another boundary alone', async () => {
    const hook = { component: 'web', when: 'Before', command: ['sh', '-c', `echo saved > ${PAGE}.hook`] }
    await expectCall(200, 'PUT', `${one.base}/${SITE}/backup-policy`, { ...KEPT, hooks: [hook] })
    await until('the Schedule has the hook', async () =>
      (await kubectl(['get', 'schedules.velero.io', '-n', 'velero', '-o', 'yaml'])).includes('echo saved'),
    )
    await write(one, 'before')
    await write(other, 'elsewhere')
    await take('first', scheduleOf('ContainerInstance', one, 'shop'))
    await until('it is shown', async () => (await policyOf(one)).backups.length === 1)
    expect((await policyOf(other)).backups).to.deep.equal([])
    await write(one, 'after')
    await restoreAsOn('containerinstances.md', one, 'first')
    await untilIt(`${one.base}/${SITE}`, 'runs', ({ status }) => status === 'Running')
    expect(await read(one)).to.equal('before\n')
    expect(await read(one, '.hook')).to.equal('saved\n')
    expect(await read(other)).to.equal('elsewhere\n')
    const { status, lastBackup } = await policyOf(one)
    expect(status).to.equal('Active')
    expect(lastBackup).to.include({ phase: 'Completed', message: null })
  })

  it('deletes what keepLast and the retention do not keep', async () => {
    await take('second', scheduleOf('ContainerInstance', one, 'shop'))
    await untilNone('backup/first', '-n', 'velero')
    await until('only the newer one is shown', async () => (await policyOf(one)).backups.length === 1)
    await take('elsewhere', scheduleOf('ContainerInstance', other, 'shop'))
    const expired = { status: { expiration: '2026-01-01T00:00:00Z' } }
    await kubectl(['patch', 'backup/second', '-n', 'velero', '--type=merge', '-p', JSON.stringify(expired)])
    await untilNone('backup/second', '-n', 'velero')
    await until('none is shown', async () => (await policyOf(one)).backups.length === 0)
    expect((await policyOf(other)).backups).to.have.length(1)
  })

  it('restores what a deleted instance had into a new one of its name', async () => {
    await take('last', scheduleOf('ContainerInstance', one, 'shop'))
    await remove(one, SITE)
    await makeSite(one)
    expect((await call('GET', `${one.base}/${SITE}/backup-policy`)).status).to.equal(404)
    await restoreAsOn('containerinstances.md', one, 'last')
    await untilIt(`${one.base}/${SITE}`, 'runs', ({ status }) => status === 'Running')
    expect(await read(one)).to.equal('before\n')
  })

  it('restores files that were copied out of a running copy', async () => {
    await expectCall(200, 'PUT', `${other.base}/${SITE}/backup-policy`, { ...KEPT, method: 'FileSystem' })
    const schedule = scheduleOf('ContainerInstance', other, 'shop')
    await until('the Schedule copies files', async () =>
      (await kubectl(['get', `schedule/${schedule}`, '-n', 'velero', '-o', 'yaml'])).includes('FsBackup: true'),
    )
    await take('files', schedule)
    await write(other, 'after')
    await restoreAsOn('containerinstances.md', other, 'files', { words: 'resource-modifier-configmap' })
    await untilIt(`${other.base}/${SITE}`, 'runs', ({ status }) => status === 'Running')
    expect(await read(other)).to.equal('elsewhere\n')
  })

  it('restores an app, with the names that its page says', async () => {
    const app = `${other.base}/apps/shop`
    await expectCall(201, 'POST', app, {
      sourceKind: 'Image',
      image: SHELL_IMAGE,
      startCommand: `trap exit TERM; busybox httpd -f -p 8080 -h ${dirname(PAGE)} & wait`,
      healthPath: null,
      isPublic: false,
      volumes: [
        { name: 'site', kind: 'Persistent', mountPath: dirname(PAGE), size: '100Mi', storageClass: SNAPSHOTTABLE },
      ],
      backupPolicy: KEPT,
    })
    await untilIt(app, 'runs', ({ status }) => status === 'Running')
    const inApp = (command: string) => inPod(other, 'deploy/papp-shop--app', command)
    await inApp(`echo before > ${PAGE} && sync`)
    await take('app', scheduleOf('PlatformApp', other, 'shop'))
    await inApp(`echo after > ${PAGE}`)
    const page = await readFile(join(ROOT, 'docs/areas/apps.md'), 'utf8')
    const [names = ''] = /resource=papp.* claim=pappvol\S+site/.exec(page) ?? []
    const adapt = (commands: string) => commands.replace(/^resource=.*$/m, names)
    await restoreAsOn('containerinstances.md', other, 'app', { adapt })
    await untilIt(app, 'runs', ({ status }) => status === 'Running')
    expect(await inApp(`cat ${PAGE}`)).to.equal('before\n')
    expect(await read(other), 'the container instance of that name').to.equal('elsewhere\n')
  })

  it('says so if Velero skips volumes because it runs without its feature for them', async () => {
    const path = '/spec/template/spec/containers/0/args/1'
    const patch = [
      { op: 'test', path, value: '--features=EnableCSI' },
      { op: 'remove', path },
      // The next backup must not be taken by the former server.
      { op: 'replace', path: '/spec/strategy', value: { type: 'Recreate' } },
    ]
    await kubectl(['patch', 'deploy/velero', '-n', 'velero', '--type=json', '-p', JSON.stringify(patch)])
    await kubectl(['rollout', 'status', 'deploy/velero', '-n', 'velero'])
    await take('empty', scheduleOf('SqlInstance', one, 'books'))
    const { statusMessage } = await untilIt(`${one.base}/${BOOKS}`, 'says so', ({ phase }) => phase === 'BackupFailing')
    expect(statusMessage).to.match(/contains no volume/)
  })

  it('leaves nothing of a deleted instance but its backups', async () => {
    for (const path of [BOOKS, SITE]) await remove(one, path)
    const labels = (kind: string, name: string) => `freehold.dev/owner-kind=${kind},freehold.dev/owner-name=${name}`
    expect(await named('backup', '-n', 'velero', '-l', labels('SqlInstance', 'books'))).to.have.length(2)
    for (const schedule of [scheduleOf('SqlInstance', one, 'books'), scheduleOf('ContainerInstance', one, 'shop')]) {
      await untilNone(`schedule.velero.io/${schedule}`, '-n', 'velero')
      await untilNone(`configmap/${schedule}`, '-n', 'velero')
    }
    await untilNone('volumesnapshot', '--all-namespaces')
    await untilNone('volumesnapshotcontent')
    await untilNone('deletebackuprequest', '-n', 'velero')
    await untilNone('pvc', '-n', one.namespace)
    await untilNone('pvc', '-n', 'velero')
    // The former volumes, which the pages have an administrator keep.
    const volumes = await kubectl([
      'get',
      'pv',
      '-o',
      'jsonpath={range .items[*]}{.spec.persistentVolumeReclaimPolicy}{"\\n"}{end}',
    ])
    expect(volumes.split('\n').filter((policy) => policy === 'Retain')).to.have.length(5)
    expect(await read(other)).to.equal('elsewhere\n')
  })
})
