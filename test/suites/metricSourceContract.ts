import { expect } from 'chai'
import type {
  MeasuredSeries,
  MetricSeriesQuery,
  MetricSource,
  MetricTarget,
} from '../../src/adapters/prometheus/port.ts'

/** A past time, in seconds since the epoch, and a multiple of a minute. */
const BEGIN = Date.parse('2026-11-20T12:00:00Z') / 1000
const SPACE = 'shop-0123456789'
const EVERY = 15
const LENGTH = 600

type Played = { pod: string; container: string; namespace: string; value: (second: number) => number }
const constant = (value: number) => () => value

/** Memory of containers, sampled every fifteen seconds for ten minutes. */
const MEMORY: readonly Played[] = [
  { namespace: SPACE, pod: 'vc-main-0', container: 'qdrant', value: (second) => (second <= 300 ? 100 : 300) },
  { namespace: SPACE, pod: 'vc-main-1', container: 'qdrant', value: constant(50) },
  { namespace: SPACE, pod: 'vc-main-0', container: 'beside', value: constant(1) },
  // Its names start with the other's.
  { namespace: SPACE, pod: 'vc-main-0-0', container: 'qdrant', value: constant(7_000) },
  { namespace: SPACE, pod: 'vc-main', container: 'qdrant', value: constant(7_000) },
  { namespace: 'shop-9876543210', pod: 'vc-main-0', container: 'qdrant', value: constant(9_000) },
]

export const PLAYED_METRICS = {
  from: BEGIN,
  to: BEGIN + LENGTH,
  every: EVERY,
  /** The series as the kubelet exposes them, each with its value at a time. */
  memory: MEMORY,
}

const target: MetricTarget = {
  namespace: SPACE,
  pods: [{ workload: 'vc-main', tail: 'Ordinal' }],
  ...{ claims: [], routes: [], buckets: [], jobs: [] },
}

/** What every source of metrics must do after measuring the above. */
export function metricSourceContract(open: () => MetricSource) {
  const of = (more: Partial<MetricSeriesQuery>, from = 0, to = 300, stepSeconds = 60) => {
    const question = { collection: 'vectorclusters', metric: 'MemoryUsage', aggregation: 'Average', target } as const
    return open().of({ ...question, ...more }, { from: BEGIN + from, to: BEGIN + to, stepSeconds })
  }
  const named = (found: readonly MeasuredSeries[]) =>
    Object.fromEntries(
      found.map(({ labels: { pod, container }, points }) => [
        `${pod}/${container}`,
        points.map(({ at, value }) => [at - BEGIN, value]),
      ]),
    )
  const flat = (value: number, ...times: number[]) => times.map((at) => [at, value])

  it('returns the average of each container and step, for the target only', async () => {
    expect(named(await of({}))).to.deep.equal({
      'vc-main-0/qdrant': flat(100, 0, 60, 120, 180, 240),
      'vc-main-0/beside': flat(1, 0, 60, 120, 180, 240),
      'vc-main-1/qdrant': flat(50, 0, 60, 120, 180, 240),
    })
  })

  it('returns one container', async () => {
    expect(Object.keys(named(await of({ container: 'beside' })))).to.deep.equal(['vc-main-0/beside'])
    expect(await of({ container: 'none' })).to.deep.equal([])
  })

  it('sums all series for isSummed', async () => {
    const [one, ...others] = await of({ isSummed: true }, 300, 420)
    expect(others).to.deep.equal([])
    expect(one?.points.map(({ at, value }) => [at - BEGIN, value])).to.deep.equal(flat(351, 300, 360))
  })

  for (const [aggregation, expected] of [
    ['Average', 200],
    ['Minimum', 100],
    ['Maximum', 300],
    ['Last', 300],
  ] as const) {
    it(`returns ${aggregation} of a step in which the value changes`, async () => {
      const found = named(await of({ aggregation }, 240, 360, 120))
      expect(found['vc-main-0/qdrant']).to.deep.equal([[240, expected]])
    })
  }

  it('ends with a shorter step if the time span is no multiple of the step', async () => {
    const found = named(await of({ aggregation: 'Last' }, 0, 150))
    expect(found['vc-main-1/qdrant']).to.deep.equal(flat(50, 0, 60, 120))
  })

  it('escapes names in queries', async () => {
    const pods = [
      { workload: '.*', tail: 'Ordinal' },
      { workload: 'x"} or vector(1) or y{z="', tail: 'Any' },
    ] as const
    expect(await of({ target: { ...target, pods } })).to.deep.equal([])
    expect(await of({ target: { ...target, namespace: 'x",pod=~".*' } })).to.deep.equal([])
    expect(await of({ target: { ...target, pods: [] } })).to.deep.equal([])
  })

  it('returns nothing for a time without samples', async () => {
    expect(await of({}, -7_200, -3_600)).to.deep.equal([])
  })
}
