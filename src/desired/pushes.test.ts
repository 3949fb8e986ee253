import { expect } from 'chai'
import { type Follower, headToDeploy } from './pushes.ts'

const at = (minute: number) => new Date(Date.UTC(2026, 0, 1, 0, minute)).toISOString()
const head = (ref: string, minute = 5, kind = 'Push') => ({
  ...{ kind, ref, commit: 'a'.repeat(40), receivedAt: at(minute), deliveryId: 'one' },
})
const records = (...minutes: number[]) => minutes.map((minute) => ({ metadata: { creationTimestamp: at(minute) } }))
const follower = (given: Partial<Follower> = {}): Follower => ({
  createdAt: at(0),
  deployments: [],
  maxDeployments: 3,
  ...given,
})

describe('what a delivery deploys', () => {
  const built = (minute: number, digit: string) => ({
    metadata: { creationTimestamp: at(minute) },
    status: { commitSha: digit.repeat(40) },
  })
  const cases: [string, ReturnType<typeof head>[], Follower, boolean][] = [
    ['a push to the branch', [head('refs/heads/main')], follower(), true],
    ['a push to another branch does not', [head('refs/heads/other')], follower(), false],
    ['a tag of that name does not', [head('refs/tags/main', 5, 'Tag')], follower(), false],
    ['a pull request does not, wherever it is from', [head('refs/heads/main', 5, 'PullRequest')], follower(), false],
    [
      'a push from before there was a follower does not',
      [head('refs/heads/main')],
      follower({ createdAt: at(6) }),
      false,
    ],
    [
      'a push in the second in which its follower was made',
      [head('refs/heads/main')],
      follower({ createdAt: at(5) }),
      true,
    ],
    [
      'the push that its follower was made by does not',
      [head('refs/heads/main')],
      follower({ createdAt: at(5), isMadeByPush: true }),
      false,
    ],
    ['a push after others', [head('refs/heads/main')], follower({ deployments: records(1, 2, 3) }), true],
    ['a push before some that are kept', [head('refs/heads/main')], follower({ deployments: records(4, 6, 7) }), true],
    [
      'what the newest deployment was built of does not',
      [head('refs/heads/main')],
      follower({ deployments: [built(4, 'a'), built(1, 'b')] }),
      false,
    ],
    [
      'what was built as it came does not, whatever was deployed on purpose since',
      [head('refs/heads/main')],
      follower({ deployments: [built(4, 'a'), built(8, 'b')] }),
      false,
    ],
    [
      'what was built after it does not either',
      [head('refs/heads/main')],
      follower({ deployments: [built(1, 'c'), built(6, 'a'), built(8, 'b')] }),
      false,
    ],
    [
      'what an older one was built of: the branch went back to it',
      [head('refs/heads/main')],
      follower({ deployments: [built(4, 'b'), built(1, 'a')] }),
      true,
    ],
    [
      'one that was deployed and forgotten does not',
      [head('refs/heads/main')],
      follower({ deployments: records(6, 7, 8) }),
      false,
    ],
  ]
  for (const [title, heads, given, expected] of cases) {
    it(title, () => {
      expect(headToDeploy(heads, 'main', given) !== undefined).to.equal(expected)
    })
  }
})
