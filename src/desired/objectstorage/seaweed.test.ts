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

describe('seaweedObstacle', () => {
  const notReady = { type: 'Ready', status: 'False', message: 'Master: 1/3 ready' }
  const cases: [string, string, RegExp][] = [
    ['returns nothing for a ready gateway', seen(made()), /^serves$/],
    [
      'returns nothing while one gateway is ready',
      seen(made({}, { status: { s3: { readyReplicas: 1 } } })),
      /^serves$/,
    ],
    ['accepts the IAM flag among other flags', seen(made({ extraArgs: ['-v=1 --iam.readOnly=0'] })), /^serves$/],
    ['returns EngineMissing without the CRD', seen(undefined, false), /^EngineMissing: Install the SeaweedFS/],
    ['returns EngineMissing without the Seaweed', seen(undefined), /^EngineMissing: .*"seaweedfs\/store"/],
    [
      'returns EngineMissing while it is being deleted',
      seen(made({}, { metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' } })),
      /^EngineMissing: .*is being deleted/,
    ],
    ['returns EngineRefused without a gateway', seen({ metadata: {}, spec: {} }), /^EngineRefused: .*set spec\.s3\./],
    ['returns EngineRefused with IAM disabled', seen(made({ iam: false })), /^EngineRefused: .*spec\.s3\.iam/],
    [
      'returns EngineRefused with read-only IAM',
      seen(made({ extraArgs: [] })),
      /^EngineRefused: .*-iam\.readOnly=false/,
    ],
    [
      'returns EngineRefused for flags that only resemble the IAM flag',
      seen(made({ extraArgs: ['-iam.readOnly=falsehood', '-x-iam.readOnly=true'] })),
      /^EngineRefused/,
    ],
    [
      'returns EngineRefused for another port than the platform calls',
      seen(made({ port: 9000 })),
      /^EngineRefused: .*port 9000.*objectStoreEndp/,
    ],
    ['accepts any port with an endpoint of its own', seen(made({ port: 9000 }), true, 'own'), /^serves$/],
    ['waits without a status', seen(made({}, { status: undefined })), /^WaitingForDependency: No gateway/],
    [
      'waits with the message of the Ready condition',
      seen(made({}, { status: { s3: { readyReplicas: 0 }, conditions: [notReady] } })),
      /^WaitingForDependency: .*\(Master: 1\/3 ready\)\.$/,
    ],
  ]
  for (const [sentence, said, expected] of cases) it(sentence, () => expect(said).to.match(expected))
})
