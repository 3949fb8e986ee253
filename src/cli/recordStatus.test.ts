import { expect } from 'chai'
import { chooseRoute, deriveCollections, findCollection } from './collections.ts'
import { nextSteps } from './commands/describe.ts'
import { describeListChanges } from './commands/waiting.ts'
import { parseDuration, type SettleState, settleStateOf, statusLine } from './recordStatus.ts'
import { createResultDebounce, mayScale, requireKnownStatus, waitResultOf } from './waiting.ts'

describe('what a record says of its future', () => {
  const cases: [string, object, SettleState][] = [
    ['a thing without a status is as it is', { name: 'x' }, 'settled'],
    ['what runs has come to rest', { status: 'Running' }, 'settled'],
    ['what was stopped has, too', { status: 'Stopped' }, 'settled'],
    ['what is made is under way', { status: 'Provisioning' }, 'underWay'],
    ['what goes is under way', { status: 'Deleting' }, 'underWay'],
    ['a job that runs has not ended', { status: 'Running', completedAt: null }, 'underWay'],
    ['a job that succeeded has', { status: 'Succeeded', completedAt: '2026-01-01T00:00:00Z' }, 'settled'],
    ['a deployment that has not ended is under way', { status: 'Running', finishedAt: null }, 'underWay'],
    ['what waits for its turn is, too', { status: 'Queued' }, 'underWay'],
    ['a rollout says its state', { state: 'Executing', finishedAt: null }, 'underWay'],
    ['a rollout that has ended, too', { state: 'Failed', finishedAt: '2026-01-01T00:00:00Z' }, 'failed'],
    ['what is paused waits for somebody', { status: 'Paused', finishedAt: null }, 'settled'],
    ['what failed needs somebody', { status: 'Failed' }, 'failed'],
    ['what failed in part has, too', { status: 'PartiallyFailed', finishedAt: '2026-01-01T00:00:00Z' }, 'failed'],
    ['a job whose time was up has failed', { status: 'TimedOut', completedAt: '2026-01-01T00:00:00Z' }, 'failed'],
  ]
  for (const [what, record, expected] of cases) it(what, () => expect(settleStateOf(record)).to.equal(expected))

  it('is told in one line', () => {
    expect(statusLine({ status: 'Updating', statusMessage: 'One of two runs.' })).to.equal('Updating: One of two runs.')
    expect(statusLine({ name: 'x' })).to.equal('there')
  })
})

describe('the end of waiting', () => {
  const cases: [string, unknown, Parameters<typeof waitResultOf>[1], ReturnType<typeof waitResultOf>][] = [
    ['comes with rest', { status: 'Running' }, {}, 'reached'],
    ['does not come on the way', { status: 'Updating' }, {}, undefined],
    ['is missed where it failed', { status: 'Failed' }, {}, 'missed'],
    ['is missed where the thing is gone', undefined, {}, 'missed'],
    ['comes with the status that was asked for', { status: 'Stopped' }, { status: 'Stopped' }, 'reached'],
    ['does not come with another one', { status: 'Running' }, { status: 'Stopped' }, undefined],
    ['comes with a failure that was asked for', { status: 'Failed' }, { status: 'Failed' }, 'reached'],
    ['of a deletion comes when it is gone', undefined, { isGone: true }, 'reached'],
    ['of a deletion does not come before', { status: 'Failed' }, { isGone: true }, undefined],
  ]
  for (const [what, record, wanted, expected] of cases) {
    it(what, () => expect(waitResultOf(record, wanted)).to.equal(expected))
  }
})

describe('an end that is seen', () => {
  type End = ReturnType<typeof waitResultOf>
  const cases: [string, { isChanged?: boolean }, End[], End[]][] = [
    ['counts at once where nothing was changed', {}, ['missed'], ['missed']],
    [
      'counts after a change when it is seen twice',
      { isChanged: true },
      ['reached', 'reached'],
      [undefined, 'reached'],
    ],
    [
      'is not the failure from before the change',
      { isChanged: true },
      ['missed', undefined, 'reached', 'reached'],
      [undefined, undefined, undefined, 'reached'],
    ],
    ['is a failure that stays', { isChanged: true }, ['missed', 'missed'], [undefined, 'missed']],
    ['is not another one than before', { isChanged: true }, ['reached', 'missed'], [undefined, undefined]],
  ]
  for (const [what, wanted, seen, expected] of cases) {
    it(what, () => expect(seen.map(createResultDebounce(wanted))).to.deep.equal(expected))
  }
})

describe('a status to wait for', () => {
  const given = { name: 'p', boundary: 'b', group: 'g' }
  const all = deriveCollections()
  const check = (word: string, status: string) => {
    const collection = findCollection(word, all)
    requireKnownStatus(status, { collection, target: chooseRoute(collection, 'get', given) })
  }

  it('is one that such things can have', () => {
    for (const [word, status] of [
      ['vc', 'Stopped'],
      ['job', 'Succeeded'],
      ['deploy', 'Cancelled'],
      ['install', 'Paused'],
    ] as const)
      check(word, status)
  })

  it('is refused otherwise, with those that there are', () => {
    expect(() => check('vc', 'Stoped')).to.throw(
      /^vectorclusters have no status "Stoped"; did you mean "Stopped"\? There are Pending, .*Stopped.*, deleted\.$/,
    )
    expect(() => check('vc', 'Flying')).to.throw(/^vectorclusters have no status "Flying"\. There are Pending, /)
  })
})

describe('copies that are still to come', () => {
  for (const [what, record, wanted, expected] of [
    ['are waited for after a change of what runs', { status: 'Running' }, { isChanged: true }, true],
    ['are not waited for where nothing was changed', { status: 'Running' }, {}, false],
    ['do not come to what is stopped', { status: 'Stopped' }, { isChanged: true }, false],
    ['do not come to what is gone', undefined, { isChanged: true }, false],
  ] as const) {
    it(what, () => expect(mayScale(record, wanted)).to.equal(expected))
  }
})

describe('times on the command line', () => {
  for (const [text, expected] of [
    ['90s', 90_000],
    ['10m', 600_000],
    ['1h', 3_600_000],
    ['0s', undefined],
    ['10', undefined],
    ['ten minutes', undefined],
  ] as const) {
    it(`"${text}" is ${expected ?? 'none'}`, () => expect(parseDuration(text)).to.equal(expected))
  }
})

describe('what a watch tells', () => {
  it('is what is new, what changed and what is gone', () => {
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

describe('next steps', () => {
  const given = { name: 'p', boundary: 'b', group: 'g' }
  const all = deriveCollections()
  const steps = (word: string, record: object, placed: readonly string[] = []) => {
    const collection = findCollection(word, all)
    const target = chooseRoute(collection, 'get', given)
    return nextSteps([word, 'p'], record, { collection, target, placed })
  }

  it('are what the table has below a thing', () => {
    expect(steps('vc', { status: 'Running' })).to.deep.equal([
      'freehold scale vc p REPLICAS --wait',
      'freehold read vc p apikey',
      'freehold delete vc p',
    ])
    expect(steps('job', { status: 'Running' })).to.include('freehold logs job p')
  })

  it('begin with waiting for what is under way', () => {
    expect(steps('vc', { status: 'Pending' })[0]).to.equal('freehold wait vc p')
  })

  it('name no deletion of what cannot be deleted', () => {
    for (const word of ['deploy', 'component', 'install', 'blueprint'])
      expect(steps(word, { status: 'Succeeded' })).to.deep.equal([])
  })

  it('take up again what failed, where the interface can', () => {
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

  it('stand where the thing stands', () => {
    expect(steps('vc', { status: 'Pending' }, ['-b', 'b', '-g', "it's"])[0]).to.equal(
      "freehold wait vc p -b b -g 'it'\\''s'",
    )
  })
})
