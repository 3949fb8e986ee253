import { expect } from 'chai'
import { dump, load } from 'js-yaml'
import { type RelationalSpec, relationalCluster, relationalInput, TARGET } from '../../../test/make/relational.ts'
import { secretTexts } from '../../core/secretData.ts'
import {
  type BackupTarget,
  destinationPath,
  type Origin,
  relationalChildren,
  snapshotBackup,
  targetSecret,
} from './index.ts'

/** The child of a kind as YAML would describe it, without the metadata that every child has. */
function yamlOf(
  kind: string,
  spec: Partial<RelationalSpec>,
  over: Parameters<typeof relationalInput>[1] = {},
): unknown {
  const found = relationalChildren(relationalInput(spec, over)).filter((child) => child.kind === kind)
  expect(found.map(({ metadata }) => metadata.name)).to.have.length(1)
  const [{ apiVersion, metadata, spec: content } = { apiVersion: '', metadata: { name: '' }, spec: {} }] = found
  const { name, annotations } = metadata
  return load(dump({ apiVersion, kind, metadata: { name, ...(annotations && { annotations }) }, spec: content }))
}

type Restored = { spec: { bootstrap: { recovery: object } } }

const COPY: Origin = {
  clusterName: 'orders',
  snapshotId: 'f0854e45-9295-490e-92af-fd60a52b56f3',
  destinationPath: 's3://backups/db/shop-0123456789',
  serverName: 'relc-orders-0000000000ab',
  backupId: 'backup-20261101020000',
  databaseName: 'sales',
  ownerName: 'seller',
}

describe('Cluster of a RelationalCluster', () => {
  it('has these defaults for an empty spec with a backup target', () => {
    expect(yamlOf('Cluster', {})).to.deep.equal(
      load(`
apiVersion: postgresql.cnpg.io/v1
kind: Cluster
metadata:
  name: relc-orders
  annotations: {cnpg.io/hibernation: "off"}
spec:
  instances: 2
  imageName: ghcr.io/cloudnative-pg/postgresql:17
  primaryUpdateStrategy: unsupervised
  primaryUpdateMethod: switchover
  enableSuperuserAccess: false
  storage: {size: 20Gi, resizeInUseVolumes: true}
  resources:
    requests: {cpu: 500m, memory: 2Gi}
    limits: {cpu: "2", memory: 2Gi}
  affinity: {enablePodAntiAffinity: true, topologyKey: kubernetes.io/hostname, podAntiAffinityType: preferred}
  postgresql:
    parameters: {max_connections: "200", temp_file_limit: 2097152kB}
  bootstrap:
    initdb:
      database: app
      owner: app
      secret: {name: relcowner-orders}
  plugins:
    - name: barman-cloud.cloudnative-pg.io
      isWALArchiver: true
      parameters: {barmanObjectName: relcbackup-orders, serverName: relc-orders-05275f13e39d}
  certificates:
    serverAltDNSNames:
      - relcrw-orders
      - relcrw-orders.shop-0123456789.svc
      - relcro-orders
      - relcro-orders.shop-0123456789.svc
  managed:
    roles:
      - name: app_reader
        ensure: present
        login: true
        connectionLimit: 20
        passwordSecret: {name: relcreader-orders}
      - name: app_writer
        ensure: present
        login: true
        connectionLimit: 20
        passwordSecret: {name: relcwriter-orders}
    services: {disabledDefaultServices: [ro, r]}
`),
    )
  })

  it('bootstraps a point-in-time recovery as CloudNativePG documents', () => {
    const origin = { ...COPY, targetTime: '2026-11-02T08:30:00Z' }
    const { spec } = yamlOf('Cluster', {}, { origin }) as { spec: Record<string, unknown> }
    expect({ bootstrap: spec.bootstrap, externalClusters: spec.externalClusters, plugins: spec.plugins }).to.deep.equal(
      load(`
bootstrap:
  recovery:
    source: origin
    database: sales
    owner: seller
    secret: {name: relcowner-orders}
    recoveryTarget:
      backupID: backup-20261101020000
      targetTime: "2026-11-02T08:30:00Z"
externalClusters:
  - name: origin
    plugin:
      name: barman-cloud.cloudnative-pg.io
      parameters: {barmanObjectName: relcsource-orders, serverName: relc-orders-0000000000ab}
plugins:
  - name: barman-cloud.cloudnative-pg.io
    isWALArchiver: true
    parameters: {barmanObjectName: relcbackup-orders, serverName: relc-orders-05275f13e39d}
`),
    )
  })

  it('bootstraps a restore of a snapshot without a time with targetImmediate', () => {
    const { spec } = yamlOf('Cluster', {}, { origin: COPY }) as Restored
    expect(spec.bootstrap.recovery).to.deep.include({
      recoveryTarget: { backupID: 'backup-20261101020000', targetImmediate: true },
    })
  })

  it('bootstraps a restore of snapshots of volumes with the log of the archive, to their end or a time', () => {
    const volumeSnapshots = { storage: 'rsnap-1', walStorage: 'rsnap-1-wal' }
    const recoveryOf = (origin: object) =>
      (yamlOf('Cluster', {}, { origin: { ...COPY, volumeSnapshots, ...origin } }) as Restored).spec.bootstrap.recovery
    expect(recoveryOf({})).to.deep.equal(
      load(`
source: origin
database: sales
owner: seller
secret: {name: relcowner-orders}
volumeSnapshots:
  storage: {apiGroup: snapshot.storage.k8s.io, kind: VolumeSnapshot, name: rsnap-1}
  walStorage: {apiGroup: snapshot.storage.k8s.io, kind: VolumeSnapshot, name: rsnap-1-wal}
recoveryTarget: {targetImmediate: true}
`),
    )
    expect(recoveryOf({ targetTime: '2026-11-01T10:00:00Z' })).to.deep.include({
      recoveryTarget: { targetTime: '2026-11-01T10:00:00Z' },
    })
    expect(recoveryOf({ volumeSnapshots: { storage: 'rsnap-1' } })).to.not.have.nested.property(
      'volumeSnapshots.walStorage',
    )
  })

  const cases: [string, Partial<RelationalSpec>, object, Parameters<typeof relationalInput>[1]?][] = [
    [
      'names the class for snapshots of its volumes, which go with their Backup',
      {},
      {
        spec: {
          backup: {
            volumeSnapshot: { className: 'disk-snapshots', online: true, snapshotOwnerReference: 'backup' },
          },
        },
      },
      { snapshotClass: 'disk-snapshots' },
    ],
    ['is hibernated while stopped', { running: false }, { metadata: { annotations: { 'cnpg.io/hibernation': 'on' } } }],
    [
      'has the restart annotation',
      { restartedAt: '2026-11-02T08:00:00Z' },
      { metadata: { annotations: { 'kubectl.kubernetes.io/restartedAt': '2026-11-02T08:00:00Z' } } },
    ],
    [
      'skips WAL archiving while that is suspended',
      { archivingSuspended: true },
      { metadata: { annotations: { 'cnpg.io/skipWalArchiving': 'enabled' } } },
    ],
    ['has a WAL volume for walStorageSize', { walStorageSize: '4Gi' }, { spec: { walStorage: { size: '4Gi' } } }],
    ['uses engineVersion', { engineVersion: '15' }, { spec: { imageName: 'ghcr.io/cloudnative-pg/postgresql:15' } }],
    ['uses imageName', { imageName: 'example.org/pg:1' }, { spec: { imageName: 'example.org/pg:1' } }],
    [
      'uses temp_file_limit of the spec instead of the default',
      { parameters: { temp_file_limit: '-1' } },
      { spec: { postgresql: { parameters: { temp_file_limit: '-1' } } } },
    ],
    [
      'prefers parameters of the spec to those of the plan',
      { parameters: { max_connections: '50', work_mem: '8MB' } },
      { spec: { postgresql: { parameters: { max_connections: '50', work_mem: '8MB' } } } },
    ],
    [
      'waits for synchronousReplicas',
      { replicas: 3, synchronousReplicas: 2 },
      { spec: { postgresql: { synchronous: { method: 'any', number: 2 } } } },
    ],
    [
      'waits for at most the existing replicas',
      { synchronousReplicas: 4 },
      { spec: { postgresql: { synchronous: { method: 'any', number: 1 } } } },
    ],
  ]
  for (const [name, spec, expected, over] of cases) {
    it(name, () => expect(merged(yamlOf('Cluster', spec, over), expected)).to.equal(true))
  }

  const rolesOf = (spec: Partial<RelationalSpec>, over?: Parameters<typeof relationalInput>[1]) => {
    const { spec: made } = yamlOf('Cluster', spec, over) as { spec: { managed: { roles: { name: string }[] } } }
    return made.managed.roles.map(({ name }) => name)
  }
  it('renames editor logins that collide with the owner', () => {
    expect(rolesOf({ ownerName: 'app_reader' })).to.deep.equal(['app_reader_1', 'app_writer'])
    expect(rolesOf({}, { origin: { ...COPY, ownerName: 'app_writer' } })).to.deep.equal(['app_reader', 'app_writer_1'])
  })

  it('gives editor logins no memberships', () => {
    expect(JSON.stringify(yamlOf('Cluster', {}))).to.not.match(/inRoles|pg_read_all_data|superuser":true/)
  })

  it('has no backup plugin without a target', () => {
    const kinds = relationalChildren(relationalInput({}, { backup: undefined }))
    expect(JSON.stringify(kinds)).not.to.contain('barman')
  })
})

/** Whether `whole` contains everything in `part`. */
function merged(whole: unknown, part: unknown): boolean {
  if (typeof part !== 'object' || part === null) return whole === part
  const of = (name: string) => (whole as Record<string, unknown> | undefined)?.[name]
  return Object.entries(part).every(([name, value]) => merged(of(name), value))
}

describe('other children of a RelationalCluster', () => {
  it('store backups in the bucket under the namespace with the configured retention', () => {
    expect(yamlOf('ObjectStore', {})).to.deep.equal(
      load(`
apiVersion: barmancloud.cnpg.io/v1
kind: ObjectStore
metadata: {name: relcbackup-orders}
spec:
  configuration:
    destinationPath: s3://backups/db/shop-0123456789
    endpointURL: https://s3.example.org
    s3Credentials:
      accessKeyId: {name: relctarget-orders, key: access-key-id}
      secretAccessKey: {name: relctarget-orders, key: secret-access-key}
    wal: {compression: gzip}
    data: {compression: gzip}
  instanceSidecarConfiguration:
    env:
      - {name: AWS_REQUEST_CHECKSUM_CALCULATION, value: when_required}
      - {name: AWS_RESPONSE_CHECKSUM_VALIDATION, value: when_required}
  retentionPolicy: 14d
`),
    )
  })

  for (const [prefix, path] of [
    ['', 's3://backups/shop-1'],
    ['db', 's3://backups/db/shop-1'],
    ['/db//eu/', 's3://backups/db/eu/shop-1'],
  ] as const)
    it(`store backups of a group apart from those of others, with the prefix "${prefix}"`, () =>
      expect(destinationPath({ bucket: 'backups', prefix }, 'shop-1')).to.equal(path))

  it('store backups of a target with a region, and keep them if snapshots last for ever', () => {
    const target = { bucket: 'backups', prefix: '', endpoint: undefined, region: 'eu-1' }
    const backup = { target, destinationPath: 's3://backups/shop-1', serverName: 'orders', retentionDays: undefined }
    const { spec } = yamlOf('ObjectStore', {}, { backup }) as { spec: { configuration: Record<string, unknown> } }
    expect(spec).to.not.have.property('retentionPolicy')
    expect(spec.configuration).to.not.have.property('endpointURL')
    expect(spec.configuration.s3Credentials).to.deep.include({ region: { name: 'relctarget-orders', key: 'region' } })
    const copied = (given: BackupTarget) => secretTexts(targetSecret(relationalCluster(), given, {}).data)
    expect(copied({ ...TARGET, region: 'eu-1' })).to.deep.equal({ region: 'eu-1' })
    expect(copied(TARGET)).to.deep.equal({})
  })

  for (const [when, spec] of [
    ['while archiving is suspended', { archivingSuspended: true }],
    ['while stopped', { running: false }],
  ] as const)
    it(`schedule no backup ${when}`, () =>
      expect(yamlOf('ScheduledBackup', spec)).to.have.nested.property('spec.suspend', true))

  it('take a snapshot from the primary', () => {
    const metadata = { name: 'b1', namespace: 'shop-1' }
    expect(snapshotBackup({ metadata, spec: { clusterName: 'orders' } } as never)).to.deep.equal({
      ...{ apiVersion: 'postgresql.cnpg.io/v1', kind: 'Backup', metadata: { ...metadata, name: 'rsnap-b1' } },
      spec: {
        ...{ cluster: { name: 'relc-orders' }, method: 'plugin', target: 'primary' },
        pluginConfiguration: { name: 'barman-cloud.cloudnative-pg.io' },
      },
    })
  })

  it('take a snapshot of the volumes of the primary, which stays writable', () => {
    const metadata = { name: 'b1', namespace: 'shop-1' }
    const { spec } = snapshotBackup({ metadata, spec: { clusterName: 'orders', method: 'Volume' } } as never)
    expect(spec).to.deep.equal({
      ...{ cluster: { name: 'relc-orders' }, method: 'volumeSnapshot', online: true, target: 'primary' },
    })
  })

  it('schedule base backups with seconds and Sunday as 0, without an owner', () => {
    expect(yamlOf('ScheduledBackup', { backupSchedule: '30 4 * * 5-7' })).to.deep.equal(
      load(`
apiVersion: postgresql.cnpg.io/v1
kind: ScheduledBackup
metadata: {name: relcbackup-orders}
spec:
  schedule: 0 30 4 * * 0,5,6
  immediate: true
  suspend: false
  backupOwnerReference: none
  cluster: {name: relc-orders}
  method: plugin
  pluginConfiguration: {name: barman-cloud.cloudnative-pg.io}
  target: prefer-standby
`),
    )
  })

  for (const [asked, told] of [
    ['0 2 * * 7', '0 0 2 * * 0'],
    ['0 2 * * 6-7', '0 0 2 * * 0,6'],
  ] as const)
    it(`schedule base backups on the same days as ${asked}`, () => {
      expect(yamlOf('ScheduledBackup', { backupSchedule: asked })).to.have.nested.property('spec.schedule', told)
    })

  it('allow egress to the API server if the group denies it', () => {
    const apiServer = [{ cidr: '10.96.0.1/32', ports: [443] }]
    const egress = (over: object) => {
      const found = relationalChildren(relationalInput({}, over)).find(({ kind }) => kind === 'NetworkPolicy')
      const { policyTypes, egress: rules } = (found?.spec ?? {}) as { policyTypes?: string[]; egress?: object[] }
      return { policyTypes, rules }
    }
    expect(egress({ apiServer })).to.deep.equal({
      policyTypes: ['Ingress', 'Egress'],
      rules: [{ to: [{ ipBlock: { cidr: '10.96.0.1/32' } }], ports: [{ port: 443, protocol: 'TCP' }] }],
    })
    expect(egress({})).to.deep.equal({ policyTypes: ['Ingress'], rules: undefined })
  })

  const names = (spec: Partial<RelationalSpec>, over: Parameters<typeof relationalInput>[1] = {}) =>
    relationalChildren(relationalInput(spec, over)).map(({ kind, metadata }) => `${kind}/${metadata.name}`)

  const cases: [sentence: string, child: string, without: Partial<RelationalSpec>, having: Partial<RelationalSpec>][] =
    [
      ['include no read-only Service for a single instance', 'Service/relcro-', { replicas: 1 }, { replicas: 2 }],
      ['include no Pooler while stopped', 'Pooler/', { enablePooler: true, running: false }, { enablePooler: true }],
      ['include no Database without extensions', 'Database/', {}, { extensions: ['hstore'] }],
      ['include no public Service without a load balancer', 'Service/relcpublic', {}, { enableLoadBalancer: true }],
    ]
  for (const [sentence, child, without, having] of cases)
    it(sentence, () => {
      const counts = [without, having].map((spec) => names(spec).filter((name) => name.startsWith(child)).length)
      expect(counts).to.deep.equal([0, 1])
    })

  it('read the origin of a restore from a store without retention', () => {
    const all = relationalChildren(relationalInput({}, { origin: COPY }))
    const source = load(dump(all.find(({ metadata }) => metadata.name === 'relcsource-orders')?.spec ?? {}))
    expect(source).to.not.have.property('retentionPolicy')
    expect(source).to.have.nested.property('configuration.destinationPath', COPY.destinationPath)
    expect(relationalChildren(relationalInput({}, { origin: COPY, target: undefined, backup: undefined }))).to.satisfy(
      (children: { kind: string }[]) => children.every(({ kind }) => kind !== 'ObjectStore'),
    )
  })

  it('route the Services to the database of connectTo', () => {
    const service = yamlOf('Service', { replicas: 1, connectTo: 'heir' }) as { spec: { selector: object } }
    expect(service.spec.selector).to.deep.equal({ 'cnpg.io/cluster': 'relc-heir', 'cnpg.io/instanceRole': 'primary' })
  })

  it('drop an extension that was removed from the spec', () => {
    const over = { installedExtensions: ['citext', 'hstore'] }
    const database = yamlOf('Database', { extensions: ['hstore'] }, over) as { spec: { extensions: object[] } }
    expect(database.spec.extensions).to.deep.equal([
      { name: 'citext', ensure: 'absent' },
      { name: 'hstore', ensure: 'present' },
    ])
  })

  it('allow traffic from group, platform and engine, and from allowedCidrs only', () => {
    const policy = yamlOf('NetworkPolicy', { enableLoadBalancer: true, allowedCidrs: '198.51.100.0/24' })
    expect(JSON.stringify(policy)).to.contain('198.51.100.0/24').and.to.contain('cnpg-system')
    expect(JSON.stringify(policy)).not.to.contain('0.0.0.0/0')
    expect(JSON.stringify(yamlOf('NetworkPolicy', {}))).not.to.contain('ipBlock')
    expect(JSON.stringify(policy)).to.contain('metrics-reader').and.to.contain('9187')
  })
})
