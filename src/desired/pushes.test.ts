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

describe('headToDeploy', () => {
  const built = (minute: number, digit: string) => ({
    metadata: { creationTimestamp: at(minute) },
    status: { commitSha: digit.repeat(40) },
  })
  const cases: [string, ReturnType<typeof head>[], Follower, boolean][] = [
    ['deploys a push to the branch', [head('refs/heads/main')], follower(), true],
    ['ignores a push to another branch', [head('refs/heads/other')], follower(), false],
    ['ignores a tag with the name of the branch', [head('refs/tags/main', 5, 'Tag')], follower(), false],
    ['ignores a pull request', [head('refs/heads/main', 5, 'PullRequest')], follower(), false],
    [
      'ignores a push before the creation of the follower',
      [head('refs/heads/main')],
      follower({ createdAt: at(6) }),
      false,
    ],
    [
      'deploys a push in the second of the creation of the follower',
      [head('refs/heads/main')],
      follower({ createdAt: at(5) }),
      true,
    ],
    [
      'ignores the push that created its follower',
      [head('refs/heads/main')],
      follower({ createdAt: at(5), isMadeByPush: true }),
      false,
    ],
    [
      'deploys a push after older deployments',
      [head('refs/heads/main')],
      follower({ deployments: records(1, 2, 3) }),
      true,
    ],
    [
      'deploys a push before some recorded deployments',
      [head('refs/heads/main')],
      follower({ deployments: records(4, 6, 7) }),
      true,
    ],
    [
      'ignores the commit of the newest deployment',
      [head('refs/heads/main')],
      follower({ deployments: [built(4, 'a'), built(1, 'b')] }),
      false,
    ],
    [
      'ignores a commit that was built before a later deployment of another one',
      [head('refs/heads/main')],
      follower({ deployments: [built(4, 'a'), built(8, 'b')] }),
      false,
    ],
    [
      'ignores a commit that was built after the push',
      [head('refs/heads/main')],
      follower({ deployments: [built(1, 'c'), built(6, 'a'), built(8, 'b')] }),
      false,
    ],
    [
      'deploys the commit of an older deployment after a reset of the branch',
      [head('refs/heads/main')],
      follower({ deployments: [built(4, 'b'), built(1, 'a')] }),
      true,
    ],
    [
      'ignores a push whose deployment was displaced by newer ones',
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
