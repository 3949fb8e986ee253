import { expect } from 'chai'
import { chooseRoute, deriveCollections, findCollection } from './collections.ts'
import { nextSteps } from './commands/describe.ts'
import { describeListChanges } from './commands/waiting.ts'
import { parseDuration, type SettleState, settleStateOf, statusLine } from './recordStatus.ts'
import { createResultDebounce, mayScale, requireKnownStatus, waitResultOf } from './waiting.ts'

describe('settleStateOf and statusLine', () => {
  const cases: [string, object, SettleState][] = [
    ['returns settled for a record without a status', { name: 'x' }, 'settled'],
    ['returns settled for Running', { status: 'Running' }, 'settled'],
    ['returns settled for Stopped', { status: 'Stopped' }, 'settled'],
    ['returns underWay for Provisioning', { status: 'Provisioning' }, 'underWay'],
    ['returns underWay for Deleting', { status: 'Deleting' }, 'underWay'],
    ['returns underWay for a running job', { status: 'Running', completedAt: null }, 'underWay'],
    ['returns settled for a succeeded job', { status: 'Succeeded', completedAt: '2026-01-01T00:00:00Z' }, 'settled'],
    ['returns underWay for a running deployment', { status: 'Running', finishedAt: null }, 'underWay'],
    ['returns underWay for Queued', { status: 'Queued' }, 'underWay'],
    ['returns underWay for an executing rollout', { state: 'Executing', finishedAt: null }, 'underWay'],
    ['returns failed for a failed rollout', { state: 'Failed', finishedAt: '2026-01-01T00:00:00Z' }, 'failed'],
    ['returns settled for Paused', { status: 'Paused', finishedAt: null }, 'settled'],
    ['returns failed for Failed', { status: 'Failed' }, 'failed'],
    ['returns failed for PartiallyFailed', { status: 'PartiallyFailed', finishedAt: '2026-01-01T00:00:00Z' }, 'failed'],
    ['returns failed for a job that timed out', { status: 'TimedOut', completedAt: '2026-01-01T00:00:00Z' }, 'failed'],
  ]
  for (const [what, record, expected] of cases) it(what, () => expect(settleStateOf(record)).to.equal(expected))

  it('returns the status and its message, or "there", as a line', () => {
    expect(statusLine({ status: 'Updating', statusMessage: 'One of two runs.' })).to.equal('Updating: One of two runs.')
    expect(statusLine({ name: 'x' })).to.equal('there')
  })
})

describe('waitResultOf', () => {
  const cases: [string, unknown, Parameters<typeof waitResultOf>[1], ReturnType<typeof waitResultOf>][] = [
    ['returns reached for a settled record', { status: 'Running' }, {}, 'reached'],
    ['returns undefined for a record under way', { status: 'Updating' }, {}, undefined],
    ['returns missed for a failed record', { status: 'Failed' }, {}, 'missed'],
    ['returns missed for a deleted record', undefined, {}, 'missed'],
    ['returns reached for the wanted status', { status: 'Stopped' }, { status: 'Stopped' }, 'reached'],
    ['returns undefined for another settled status', { status: 'Running' }, { status: 'Stopped' }, undefined],
    ['returns reached for Failed if Failed is wanted', { status: 'Failed' }, { status: 'Failed' }, 'reached'],
    ['returns reached for a deleted record if deletion is wanted', undefined, { isGone: true }, 'reached'],
    [
      'returns undefined for an existing record if deletion is wanted',
      { status: 'Failed' },
      { isGone: true },
      undefined,
    ],
  ]
  for (const [what, record, wanted, expected] of cases) {
    it(what, () => expect(waitResultOf(record, wanted)).to.equal(expected))
  }
})

describe('createResultDebounce', () => {
  type End = ReturnType<typeof waitResultOf>
  const cases: [string, { isChanged?: boolean }, End[], End[]][] = [
    ['returns a result at once without a change', {}, ['missed'], ['missed']],
    [
      'returns a result after a change when it is seen twice',
      { isChanged: true },
      ['reached', 'reached'],
      [undefined, 'reached'],
    ],
    [
      'ignores a failure from before the change',
      { isChanged: true },
      ['missed', undefined, 'reached', 'reached'],
      [undefined, undefined, undefined, 'reached'],
    ],
    ['returns a failure that stays', { isChanged: true }, ['missed', 'missed'], [undefined, 'missed']],
    ['restarts when the result differs', { isChanged: true }, ['reached', 'missed'], [undefined, undefined]],
  ]
  for (const [what, wanted, seen, expected] of cases) {
    it(what, () => expect(seen.map(createResultDebounce(wanted))).to.deep.equal(expected))
  }
})

describe('requireKnownStatus', () => {
  const given = { name: 'p', boundary: 'b', group: 'g' }
  const all = deriveCollections()
  const check = (word: string, status: string) => {
    const collection = findCollection(word, all)
    requireKnownStatus(status, { collection, target: chooseRoute(collection, 'get', given) })
  }

  it('accepts statuses that the kind can have', () => {
    for (const [word, status] of [
      ['vc', 'Stopped'],
      ['job', 'Succeeded'],
      ['deploy', 'Cancelled'],
      ['install', 'Paused'],
    ] as const)
      check(word, status)
  })

  it('rejects other statuses and lists the known ones', () => {
    expect(() => check('vc', 'Stoped')).to.throw(
      /^vectorclusters have no status "Stoped"; did you mean "Stopped"\? There are Pending, .*Stopped.*, deleted\.$/,
    )
    expect(() => check('vc', 'Flying')).to.throw(/^vectorclusters have no status "Flying"\. There are Pending, /)
  })
})

describe('mayScale', () => {
  for (const [what, record, wanted, expected] of [
    ['is true after a change of something that runs', { status: 'Running' }, { isChanged: true }, true],
    ['is false without a change', { status: 'Running' }, {}, false],
    ['is false for something stopped', { status: 'Stopped' }, { isChanged: true }, false],
    ['is false for something deleted', undefined, { isChanged: true }, false],
  ] as const) {
    it(what, () => expect(mayScale(record, wanted)).to.equal(expected))
  }
})

describe('parseDuration', () => {
  for (const [text, expected] of [
    ['90s', 90_000],
    ['10m', 600_000],
    ['1h', 3_600_000],
    ['0s', undefined],
    ['10', undefined],
    ['ten minutes', undefined],
  ] as const) {
    it(`returns ${expected ?? 'undefined'} for "${text}"`, () => expect(parseDuration(text)).to.equal(expected))
  }
})

describe('describeListChanges', () => {
  it('returns what was added, changed and deleted', () => {
    const before = new Map([
      ['a', 'Pending'],
      ['b', 'Running'],
      ['c', 'Running'],
    ])
    const now = new Map([
      ['a', 'Running'],
      ['b', 'Running'],
      ['d', 'Pending'],
    ])
    expect(describeListChanges(before, now)).to.deep.equal(['c: gone', 'a: Running', 'd: Pending'])
  })
})

describe('nextSteps', () => {
  const given = { name: 'p', boundary: 'b', group: 'g' }
  const all = deriveCollections()
  const steps = (word: string, record: object, placeOptions: readonly string[] = []) => {
    const collection = findCollection(word, all)
    const target = chooseRoute(collection, 'get', given)
    return nextSteps([word, 'p'], record, { collection, target, placeOptions })
  }

  it('suggests the actions that the route table has for the resource', () => {
    expect(steps('vc', { status: 'Running' })).to.deep.equal([
      'freehold scale vc p REPLICAS --wait',
      'freehold read vc p apikey',
      'freehold delete vc p',
    ])
    expect(steps('job', { status: 'Running' })).to.include('freehold logs job p')
  })

  it('suggests waiting first for a resource under way', () => {
    expect(steps('vc', { status: 'Pending' })[0]).to.equal('freehold wait vc p')
  })

  it('suggests no deletion if the interface has none', () => {
    for (const word of ['deploy', 'component', 'install', 'blueprint'])
      expect(steps(word, { status: 'Succeeded' })).to.deep.equal([])
  })

  it('suggests to retry, resume or repair what failed, if the interface can', () => {
    const failed = { status: 'Failed', canResume: true }
    expect(steps('deploy', failed)[1]).to.equal('freehold call POST /boundaries/b/resources/blueprints/deploys/p/retry')
    expect(steps('install', failed)[1]).to.equal('freehold call POST /lifecycle/installs/p/resume')
    expect(steps('install', { ...failed, status: 'Paused' })).to.deep.equal([
      'freehold call POST /lifecycle/installs/p/resume',
    ])
    expect(steps('install', { ...failed, canResume: false })).to.have.length(1)
    expect(steps('deploy', { status: 'Failed', retriedBy: 'other' })).to.have.length(1)
    expect(steps('component', failed)[1]).to.equal('freehold call POST /lifecycle/components/p/repair')
    expect(steps('component', { status: 'Degraded' })).to.include('freehold call POST /lifecycle/components/p/repair')
    expect(steps('deploy', { status: 'Running', finishedAt: null })).to.deep.equal(['freehold wait deploy p'])
  })

  it('repeats the options for the boundary and the group, quoted', () => {
    expect(steps('vc', { status: 'Pending' }, ['-b', 'b', '-g', "it's"])[0]).to.equal(
      "freehold wait vc p -b b -g 'it'\\''s'",
    )
  })
})
