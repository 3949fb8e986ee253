import { expect } from 'chai'
import { dump, load } from 'js-yaml'
import { type RelationalSpec, relationalInput } from '../../../test/make/relational.ts'
import { LOGINS, loginSecret, type Origin, relationalChildren } from './index.ts'

/** The object of a kind as it would stand in a file, without what every child has. */
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

const COPY: Origin = {
  clusterName: 'orders',
  snapshotId: 'f0854e45-9295-490e-92af-fd60a52b56f3',
  destinationPath: 's3://backups/db/shop-0123456789',
  serverName: 'relc-orders-0000000000ab',
  backupId: 'backup-20261101020000',
  databaseName: 'sales',
  ownerName: 'seller',
}

describe('the Cluster of a relational database', () => {
  it('is, from an empty spec with a backup target, exactly this', () => {
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

  it('that is restored to a moment is what CloudNativePG documents for recovery to a point in time', () => {
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

  it('that is restored from a snapshot alone ends where the snapshot does', () => {
    const { spec } = yamlOf('Cluster', {}, { origin: COPY }) as { spec: { bootstrap: { recovery: object } } }
    expect(spec.bootstrap.recovery).to.deep.include({
      recoveryTarget: { backupID: 'backup-20261101020000', targetImmediate: true },
    })
  })

  const cases: [string, Partial<RelationalSpec>, object, Parameters<typeof relationalInput>[1]?][] = [
    [
      'is hibernated while it is stopped',
      { running: false },
      { metadata: { annotations: { 'cnpg.io/hibernation': 'on' } } },
    ],
    [
      'is told of a restart',
      { restartedAt: '2026-11-02T08:00:00Z' },
      { metadata: { annotations: { 'kubectl.kubernetes.io/restartedAt': '2026-11-02T08:00:00Z' } } },
    ],
    [
      'writes no log to the target while that is suspended',
      { archivingSuspended: true },
      { metadata: { annotations: { 'cnpg.io/skipWalArchiving': 'enabled' } } },
    ],
    ['has the log on a volume of its own', { walStorageSize: '4Gi' }, { spec: { walStorage: { size: '4Gi' } } }],
    [
      'takes the version that is asked for',
      { engineVersion: '15' },
      { spec: { imageName: 'ghcr.io/cloudnative-pg/postgresql:15' } },
    ],
    ['takes an image as it is', { imageName: 'example.org/pg:1' }, { spec: { imageName: 'example.org/pg:1' } }],
    [
      'lets one query fill a tenth of the volume, unless the spec says otherwise',
      { parameters: { temp_file_limit: '-1' } },
      { spec: { postgresql: { parameters: { temp_file_limit: '-1' } } } },
    ],
    [
      'lets parameters of the spec win over the plan',
      { parameters: { max_connections: '50', work_mem: '8MB' } },
      { spec: { postgresql: { parameters: { max_connections: '50', work_mem: '8MB' } } } },
    ],
    [
      'waits for as many replicas as are asked for',
      { replicas: 3, synchronousReplicas: 2 },
      { spec: { postgresql: { synchronous: { method: 'any', number: 2 } } } },
    ],
    [
      'never waits for more replicas than there are',
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
  it('gives the logins of the editor other names where the owner has them', () => {
    expect(rolesOf({ ownerName: 'app_reader' })).to.deep.equal(['app_reader_1', 'app_writer'])
    expect(rolesOf({}, { origin: { ...COPY, ownerName: 'app_writer' } })).to.deep.equal(['app_reader', 'app_writer_1'])
  })

  it('makes the logins of the editor members of nothing', () => {
    expect(JSON.stringify(yamlOf('Cluster', {}))).to.not.match(/inRoles|pg_read_all_data|superuser":true/)
  })

  it('archives nothing without a place for it', () => {
    const kinds = relationalChildren(relationalInput({}, { backup: undefined }))
    expect(JSON.stringify(kinds)).not.to.contain('barman')
  })
})

/** Whether everything of `part` is in `whole`. */
function merged(whole: unknown, part: unknown): boolean {
  if (typeof part !== 'object' || part === null) return whole === part
  const of = (name: string) => (whole as Record<string, unknown> | undefined)?.[name]
  return Object.entries(part).every(([name, value]) => merged(of(name), value))
}

describe('what stands around it', () => {
  it('keeps backups in the bucket, under the namespace, for as long as is asked', () => {
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

  it('takes base backups by the clock, with seconds in front and Sunday as 0, and leaves them to their snapshots', () => {
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
    it(`takes base backups on the days that were meant: ${asked}`, () => {
      expect(yamlOf('ScheduledBackup', { backupSchedule: asked })).to.have.nested.property('spec.schedule', told)
    })

  it('lets the instances ask the API server where that is closed to their group', () => {
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

  const cases: [string, string[]][] = [
    ['a primary alone has no Service for reading', names({ replicas: 1 }).filter((name) => name.includes('relcro-'))],
    [
      'a stopped one has no pooler',
      names({ enablePooler: true, running: false }).filter((name) => name.startsWith('Pooler')),
    ],
    ['one without extensions has no Database', names({}).filter((name) => name.startsWith('Database'))],
    ['one that is not public has no load balancer', names({}).filter((name) => name.includes('relcpublic'))],
  ]
  for (const [name, found] of cases) it(name, () => expect(found).to.deep.equal([]))

  it('reads the origin of a restored one from a store of its own, which never deletes', () => {
    const all = relationalChildren(relationalInput({}, { origin: COPY }))
    const source = load(dump(all.find(({ metadata }) => metadata.name === 'relcsource-orders')?.spec ?? {}))
    expect(source).to.not.have.property('retentionPolicy')
    expect(source).to.have.nested.property('configuration.destinationPath', COPY.destinationPath)
    expect(relationalChildren(relationalInput({}, { origin: COPY, target: undefined, backup: undefined }))).to.satisfy(
      (children: { kind: string }[]) => children.every(({ kind }) => kind !== 'ObjectStore'),
    )
  })

  it('leads the connection Services to the database that took the name over', () => {
    const service = yamlOf('Service', { replicas: 1, connectTo: 'heir' }) as { spec: { selector: object } }
    expect(service.spec.selector).to.deep.equal({ 'cnpg.io/cluster': 'relc-heir', 'cnpg.io/instanceRole': 'primary' })
  })

  it('takes out an extension that is no longer wanted', () => {
    const over = { installedExtensions: ['citext', 'hstore'] }
    const database = yamlOf('Database', { extensions: ['hstore'] }, over) as { spec: { extensions: object[] } }
    expect(database.spec.extensions).to.deep.equal([
      { name: 'citext', ensure: 'absent' },
      { name: 'hstore', ensure: 'present' },
    ])
  })

  it('is open to the group, the platform and the engine, and outside only as far as is asked', () => {
    const policy = yamlOf('NetworkPolicy', { enableLoadBalancer: true, allowedCidrs: '198.51.100.0/24' })
    expect(JSON.stringify(policy)).to.contain('198.51.100.0/24').and.to.contain('cnpg-system')
    expect(JSON.stringify(policy)).not.to.contain('0.0.0.0/0')
    expect(JSON.stringify(yamlOf('NetworkPolicy', {}))).not.to.contain('ipBlock')
    expect(JSON.stringify(policy)).to.contain('metrics-reader').and.to.contain('9187')
  })
})

describe('the Secrets of its logins', () => {
  for (const login of LOGINS) {
    it(`are what CloudNativePG takes for a password, and takes at once: ${login}`, () => {
      const input = relationalInput({})
      const { metadata, type, data } = loginSecret(input.cluster, login, { username: 'u', password: 'p' })
      expect(metadata).to.include({ name: `relc${login}-orders`, namespace: 'shop-0123456789' })
      expect(metadata.labels?.['cnpg.io/reload']).to.equal('true')
      expect([type, data]).to.deep.equal(['kubernetes.io/basic-auth', { username: 'dQ==', password: 'cA==' }])
    })
  }
})
