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

describe('children of a SqlInstance', () => {
  const cases: [sentence: string, look: () => unknown, expected: unknown][] = [
    [
      'are these beside the StatefulSet, without a PodDisruptionBudget',
      () => named(sqlInput(MARIADB)),
      ['ConfigMap sqli-books-config', 'Service sqlipeers-books', 'Service sqli-books', 'NetworkPolicy sqli-books'],
    ],
    [
      'include a public Service limited to allowedCidrs',
      () => {
        const input = sqlInput({ ...MARIADB, enableLoadBalancer: true, allowedCidrs: '203.0.113.0/24' })
        return [all(input).at(-1)?.spec?.loadBalancerSourceRanges, from(input)[0]?.from.slice(2)]
      },
      [['203.0.113.0/24'], [{ ipBlock: { cidr: '203.0.113.0/24' } }]],
    ],
    [
      'allow ingress from group and platform to the port of the engine only',
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
    ['run no pod while stopped', () => workload(sqlInput(MARIADB, { replicas: 0 })).replicas, 0],
    [
      'replace a pod that cannot start, with Parallel pod management',
      () => workload(sqlInput(MARIADB)).podManagementPolicy,
      'Parallel',
    ],
    ['use the newest MariaDB by default', () => container(sqlInput(MARIADB)).image, 'docker.io/library/mariadb:11.8'],
    [
      'use engineVersion',
      () => container(sqlInput({ ...MSSQL, engineVersion: '2019' })).image,
      'mcr.microsoft.com/mssql/server:2019-latest',
    ],
    [
      'run SQL Server on amd64 and MariaDB anywhere',
      () => [MSSQL, MARIADB].map((spec) => workload(sqlInput(spec)).template.spec.nodeSelector),
      [{ 'kubernetes.io/arch': 'amd64' }, undefined],
    ],
    [
      'run as the user of the image, MariaDB with a read-only root file system',
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
      'use the free edition by default',
      () => [variable(sqlInput(MSSQL), 'MSSQL_PID'), variable(sqlInput(MSSQL), 'ACCEPT_EULA')],
      ['Express', 'Y'],
    ],
    [
      'read the product key from its Secret by version',
      () => variable(sqlInput({ ...MSSQL, edition: 'Standard' }, { productKeyVersion: 3 }), 'MSSQL_PID'),
      'product-key.v3',
    ],
    [
      'give the engine 80 % of its memory, and the pool of MariaDB 75 % of that',
      () => [
        variable(sqlInput({ ...MSSQL, memoryLimit: '10Gi', memoryRequest: '4Gi' }), 'MSSQL_MEMORY_LIMIT_MB'),
        /pool-size = (\d+)M/.exec(
          all(sqlInput({ ...MARIADB, memoryLimit: '10Gi', memoryRequest: '4Gi' }))[0]?.data?.['freehold.cnf'] ?? '',
        )?.[1],
      ],
      ['8192', '6144'],
    ],
    [
      'keep temporary files of MariaDB on its volume, at most 25 % of it',
      () => all(sqlInput({ ...MARIADB, storageSize: '20Gi' }))[0]?.data?.['temporary.cnf'],
      '[mariadbd]\ntmpdir = /var/lib/mysql\nloose-max-tmp-total-space-usage = 5242880K\n',
    ],
    [
      'do not restart for another limit of temporary files',
      () => {
        const [small, large] = ['20Gi', '40Gi'].map((storageSize) => {
          const { annotations } = workload(sqlInput({ ...MARIADB, storageSize })).template.metadata
          return annotations['freehold.dev/config']
        })
        return [typeof small, small === large]
      },
      ['string', true],
    ],
    ['use memoryLimitMb', () => variable(sqlInput({ ...MSSQL, memoryLimitMb: 1000 }), 'MSSQL_MEMORY_LIMIT_MB'), '1000'],
    [
      'use requests and limits of the plan',
      () => container(sqlInput({ ...MARIADB, computePlan: 'sql-small' })).resources,
      { requests: { cpu: '1', memory: '4Gi' }, limits: { cpu: '2', memory: '4Gi' } },
    ],
    [
      'include a volume with the size of the plan and the incarnation of the owner',
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
      'restart for restartedAt and for another configuration of the engine',
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
      'contain passwords only in the login Secret',
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
