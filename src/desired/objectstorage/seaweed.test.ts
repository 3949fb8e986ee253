import { expect } from 'chai'
import { type Seaweed, seaweedObstacle } from './seaweed.ts'

const PLACE = { namespace: 'seaweedfs', name: 'store', port: 8333 }

const made = (gateway: object = {}, rest: object = {}): Seaweed => ({
  metadata: {},
  spec: { s3: { extraArgs: ['-iam.readOnly=false'], ...gateway } },
  status: { s3: { replicas: 2, readyReplicas: 2 } },
  ...rest,
})
const seen = (found: Seaweed | undefined, isServed = true, port: number | 'own' = 8333): string => {
  const obstacle = seaweedObstacle({ ...PLACE, port: port === 'own' ? undefined : port }, found, isServed)
  if (obstacle === undefined) return 'serves'
  return 'reason' in obstacle && 'message' in obstacle ? `${obstacle.reason}: ${obstacle.message}` : obstacle.kind
}

describe('what a Seaweed says of the store', () => {
  const notReady = { type: 'Ready', status: 'False', message: 'Master: 1/3 ready' }
  const cases: [string, string, RegExp][] = [
    ['serves with a gateway that is ready', seen(made()), /^serves$/],
    [
      'serves while some of its gateways are away',
      seen(made({}, { status: { s3: { readyReplicas: 1 } } })),
      /^serves$/,
    ],
    ['serves where the switch stands among others', seen(made({ extraArgs: ['-v=1 --iam.readOnly=0'] })), /^serves$/],
    ['says what to install where the type is unknown', seen(undefined, false), /^EngineMissing: Install the SeaweedFS/],
    ['says which one is not there', seen(undefined), /^EngineMissing: .*"seaweedfs\/store"/],
    [
      'is missing while it goes',
      seen(made({}, { metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' } })),
      /^EngineMissing: .*is being deleted/,
    ],
    ['needs a gateway', seen({ metadata: {}, spec: {} }), /^EngineRefused: .*set spec\.s3\./],
    ['needs IAM', seen(made({ iam: false })), /^EngineRefused: .*spec\.s3\.iam/],
    ['needs IAM that takes changes', seen(made({ extraArgs: [] })), /^EngineRefused: .*-iam\.readOnly=false/],
    [
      'takes no other switch for that one',
      seen(made({ extraArgs: ['-iam.readOnly=falsehood', '-x-iam.readOnly=true'] })),
      /^EngineRefused/,
    ],
    [
      'must listen where the platform calls',
      seen(made({ port: 9000 })),
      /^EngineRefused: .*port 9000.*objectStoreEndp/,
    ],
    ['may listen anywhere where an endpoint is set', seen(made({ port: 9000 }), true, 'own'), /^serves$/],
    [
      'is waited for before it has a status',
      seen(made({}, { status: undefined })),
      /^WaitingForDependency: No gateway/,
    ],
    [
      "is waited for in the operator's own words",
      seen(made({}, { status: { s3: { readyReplicas: 0 }, conditions: [notReady] } })),
      /^WaitingForDependency: .*\(Master: 1\/3 ready\)\.$/,
    ],
  ]
  for (const [sentence, said, expected] of cases) it(sentence, () => expect(said).to.match(expected))
})
