import { expect } from 'chai'
import { sqlInput } from '../../../test/make/sql.ts'
import { loginSecret, type SqlInput, sqlAuxiliaryChildren, sqlWorkload } from './index.ts'

type Container = {
  image: string
  env: { name: string; value?: string; valueFrom?: { secretKeyRef: { name: string; key: string } } }[]
  resources: object
  securityContext: { readOnlyRootFilesystem: boolean }
}
type PodSpec = { containers: [Container]; nodeSelector?: object; securityContext: { runAsUser: number } }
type Workload = {
  replicas: number
  podManagementPolicy: string
  template: { metadata: { annotations: Record<string, string> }; spec: PodSpec }
  volumeClaimTemplates: [{ metadata: { annotations: object }; spec: object }]
}
type Loose = { kind: string; metadata: { name: string }; spec?: Record<string, unknown>; data?: Record<string, string> }

const MARIADB = { engine: 'MariaDb' } as const
const MSSQL = { engine: 'MsSql', acceptEula: true } as const

const workload = (input: SqlInput) => sqlWorkload(input).spec as unknown as Workload
const container = (input: SqlInput) => workload(input).template.spec.containers[0]
const all = (input: SqlInput) => sqlAuxiliaryChildren(input) as unknown as Loose[]
const named = (input: SqlInput) => all(input).map(({ kind, metadata }) => `${kind} ${metadata.name}`)
const variable = (input: SqlInput, name: string) => {
  const found = container(input).env.find((each) => each.name === name)
  return found?.value ?? found?.valueFrom?.secretKeyRef.key
}
const from = (input: SqlInput) =>
  all(input)
    .filter(({ kind }) => kind === 'NetworkPolicy')
    .flatMap(({ spec }) => (spec?.ingress ?? []) as { from: object[]; ports: object[] }[])

describe('the children of a SQL instance', () => {
  const cases: [sentence: string, look: () => unknown, expected: unknown][] = [
    [
      'are these beside the workload, and no disruption budget: one pod can be moved or not',
      () => named(sqlInput(MARIADB)),
      ['ConfigMap sqli-books-config', 'Service sqlipeers-books', 'Service sqli-books', 'NetworkPolicy sqli-books'],
    ],
    [
      'have a public Service where one is asked for, bounded to what is allowed',
      () => {
        const input = sqlInput({ ...MARIADB, enableLoadBalancer: true, allowedCidrs: '203.0.113.0/24' })
        return [all(input).at(-1)?.spec?.loadBalancerSourceRanges, from(input)[0]?.from.slice(2)]
      },
      [['203.0.113.0/24'], [{ ipBlock: { cidr: '203.0.113.0/24' } }]],
    ],
    [
      'let the group and the platform in, on the port of the engine alone',
      () => from(sqlInput(MSSQL)),
      [
        {
          from: [
            { podSelector: {} },
            { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'freehold-system' } } },
          ],
          ports: [{ port: 1433, protocol: 'TCP' }],
        },
      ],
    ],
    ['run one pod', () => workload(sqlInput(MARIADB)).replicas, 1],
    ['run none while stopped', () => workload(sqlInput(MARIADB, { replicas: 0 })).replicas, 0],
    [
      'replace a pod that cannot start by one that can',
      () => workload(sqlInput(MARIADB)).podManagementPolicy,
      'Parallel',
    ],
    ['take the newest MariaDB', () => container(sqlInput(MARIADB)).image, 'docker.io/library/mariadb:11.8'],
    [
      'take the version that is named',
      () => container(sqlInput({ ...MSSQL, engineVersion: '2019' })).image,
      'mcr.microsoft.com/mssql/server:2019-latest',
    ],
    [
      'run SQL Server where its image runs, MariaDB anywhere',
      () => [MSSQL, MARIADB].map((spec) => workload(sqlInput(spec)).template.spec.nodeSelector),
      [{ 'kubernetes.io/arch': 'amd64' }, undefined],
    ],
    [
      'run as the user of each image, MariaDB on a file system that it cannot write',
      () =>
        [MSSQL, MARIADB].map((spec) => {
          const { securityContext, containers } = workload(sqlInput(spec)).template.spec
          return [securityContext.runAsUser, containers[0].securityContext.readOnlyRootFilesystem]
        }),
      [
        [10001, false],
        [999, true],
      ],
    ],
    [
      'name the free edition if none is named',
      () => [variable(sqlInput(MSSQL), 'MSSQL_PID'), variable(sqlInput(MSSQL), 'ACCEPT_EULA')],
      ['Express', 'Y'],
    ],
    [
      'take the product key from its Secret, by its version',
      () => variable(sqlInput({ ...MSSQL, edition: 'Standard' }, { productKeyVersion: 3 }), 'MSSQL_PID'),
      'product-key.v3',
    ],
    [
      'give the engine four fifths of its memory, and MariaDB three quarters of that as its pool',
      () => [
        variable(sqlInput({ ...MSSQL, memoryLimit: '10Gi', memoryRequest: '4Gi' }), 'MSSQL_MEMORY_LIMIT_MB'),
        /pool-size = (\d+)M/.exec(
          all(sqlInput({ ...MARIADB, memoryLimit: '10Gi', memoryRequest: '4Gi' }))[0]?.data?.['freehold.cnf'] ?? '',
        )?.[1],
      ],
      ['8192', '6144'],
    ],
    [
      'keep temporary files of MariaDB on its volume, a quarter of it at most',
      () => all(sqlInput({ ...MARIADB, storageSize: '20Gi' }))[0]?.data?.['temporary.cnf'],
      '[mariadbd]\ntmpdir = /var/lib/mysql\nloose-max-tmp-total-space-usage = 5242880K\n',
    ],
    [
      'restart for nothing that has to do with temporary files',
      () => {
        const [small, large] = ['20Gi', '40Gi'].map((storageSize) => sqlInput({ ...MARIADB, storageSize }))
        return (
          small &&
          large &&
          workload(small).template.metadata.annotations['freehold.dev/config'] ===
            workload(large).template.metadata.annotations['freehold.dev/config']
        )
      },
      true,
    ],
    [
      'obey memoryLimitMb',
      () => variable(sqlInput({ ...MSSQL, memoryLimitMb: 1000 }), 'MSSQL_MEMORY_LIMIT_MB'),
      '1000',
    ],
    [
      'take requests and limits from the plan',
      () => container(sqlInput({ ...MARIADB, computePlan: 'sql-small' })).resources,
      { requests: { cpu: '1', memory: '4Gi' }, limits: { cpu: '2', memory: '4Gi' } },
    ],
    [
      'have a volume of the plan that says whose it is',
      () => {
        const [{ metadata, spec }] = workload(sqlInput(MARIADB)).volumeClaimTemplates
        return [metadata.annotations, spec]
      },
      [
        { 'freehold.dev/incarnation-of-owner': 'one' },
        { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '10Gi' } }, volumeMode: 'Filesystem' },
      ],
    ],
    [
      'restart for another time, and for another file of the engine',
      () => {
        const annotations = (spec: Parameters<typeof sqlInput>[0]) =>
          JSON.stringify(workload(sqlInput({ ...MARIADB, ...spec })).template.metadata.annotations)
        const plain = annotations({})
        return [annotations({ restartedAt: '2026-11-02T00:00:00Z' }), annotations({ memoryLimitMb: 999 })].map(
          (other) => other !== plain,
        )
      },
      [true, true],
    ],
    [
      'hold no password outside of their Secret',
      () => {
        const input = sqlInput(MARIADB)
        const passwords = { admin: 'pw-a', owner: 'pw-o', writer: 'pw-w', reader: 'pw-r' }
        const secret = loginSecret(input.instance, passwords)
        const rest = JSON.stringify([...all(input), sqlWorkload(input)])
        return [Object.keys(secret.data).length, rest.includes('pw-')]
      },
      [4, false],
    ],
  ]
  for (const [sentence, look, expected] of cases) it(sentence, () => expect(look()).to.deep.equal(expected))
})
