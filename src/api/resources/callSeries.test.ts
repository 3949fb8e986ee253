import { expect } from 'chai'
import type { CallBucket, CountedCalls } from '../../contracts/functionCalls.ts'
import { callSeries } from './callSeries.ts'

/** A multiple of 15 seconds. */
const NOON = Date.parse('2026-11-22T12:00:00Z') / 1000

type Some = Partial<CallBucket>
const bucket = (after: number, some: Some): CallBucket => {
  const nothing = { invocations: 0, errors: 0, throttles: 0, coldStarts: 0, durations: [] }
  return { ...nothing, at: NOON + after, ...some }
}
/** Calls counted since noon, for so many seconds. */
const counted = (seconds: number, ...buckets: CallBucket[]): CountedCalls => ({
  since: NOON,
  until: NOON + seconds,
  buckets,
})
/** Seconds after noon. */
const span = (from: number, to: number, stepSeconds: number) => ({ from: NOON + from, to: NOON + to, stepSeconds })
type Span = ReturnType<typeof span>

describe('callSeries', () => {
  const minute = span(0, 60, 30)
  const called = (after: number, ...durations: number[]) => bucket(after, { invocations: durations.length, durations })
  const hundred = Array.from({ length: 100 }, (_, index) => index + 1)

  type Seen = [secondsAfterNoon: number, value: number][]
  const cases: [sentence: string, CountedCalls | undefined, Span, name: string, Seen][] = [
    ['returns no points without counts', undefined, minute, 'Invocations', []],
    [
      'returns zero for counted time without calls',
      counted(60),
      minute,
      'Invocations',
      [
        [0, 0],
        [30, 0],
      ],
    ],
    [
      'returns calls per second over all buckets of a step',
      counted(60, bucket(0, { invocations: 10 }), bucket(15, { invocations: 20 }), bucket(45, { invocations: 3 })),
      minute,
      'Invocations',
      [
        [0, 1],
        [30, 0.1],
      ],
    ],
    [
      'returns errors',
      counted(60, bucket(30, { errors: 6 })),
      minute,
      'Errors',
      [
        [0, 0],
        [30, 0.2],
      ],
    ],
    [
      'returns throttled calls',
      counted(60, bucket(30, { throttles: 6 })),
      minute,
      'Throttles',
      [
        [0, 0],
        [30, 0.2],
      ],
    ],
    [
      'returns cold starts',
      counted(60, bucket(30, { coldStarts: 6 })),
      minute,
      'ColdStarts',
      [
        [0, 0],
        [30, 0.2],
      ],
    ],
    [
      'returns no points before counting began',
      counted(60),
      span(-60, 60, 30),
      'Invocations',
      [
        [0, 0],
        [30, 0],
      ],
    ],
    ['returns no points in the future', counted(20), span(0, 120, 30), 'Invocations', [[0, 0]]],
    ['returns no points for time before all counts', counted(60), span(-600, -60, 30), 'Invocations', []],
    [
      'divides by the elapsed seconds in the current step',
      counted(40, bucket(30, { invocations: 5 })),
      minute,
      'Invocations',
      [
        [0, 0],
        [30, 0.5],
      ],
    ],
    [
      'divides by the counted seconds in the step in which counting began',
      { since: NOON + 10, until: NOON + 60, buckets: [bucket(0, { invocations: 4 })] },
      minute,
      'Invocations',
      [
        [0, 0.2],
        [30, 0],
      ],
    ],
    [
      'counts a bucket in the step in which it begins',
      counted(60, bucket(0, { invocations: 15 }), bucket(15, { invocations: 15 }), bucket(30, { invocations: 30 })),
      span(-10, 50, 20),
      'Invocations',
      [
        [-10, 1],
        [10, 1],
        [30, 1],
      ],
    ],
    [
      'includes the bucket in which the requested time begins',
      counted(60, bucket(0, { invocations: 30 })),
      span(14, 44, 15),
      'Invocations',
      [
        [14, 1],
        [29, 0],
      ],
    ],
    [
      'ends with the requested time, in the middle of a step',
      counted(60, bucket(0, { invocations: 15 }), bucket(15, { invocations: 15 })),
      span(0, 15, 30),
      'Invocations',
      [[0, 1]],
    ],
    ['returns no duration for steps without calls', counted(60, called(30, 7)), minute, 'DurationP50', [[30, 7]]],
    [
      'returns no duration if all calls were throttled',
      counted(60, bucket(0, { throttles: 3 })),
      minute,
      'DurationP99',
      [],
    ],
    [
      'returns the middle one of three durations as P50',
      counted(30, called(0, 30, 10, 20)),
      minute,
      'DurationP50',
      [[0, 20]],
    ],
    ['returns the lower one of two durations as P50', counted(30, called(0, 30, 10)), minute, 'DurationP50', [[0, 10]]],
    ['returns the 95th of 100 durations as P95', counted(30, called(0, ...hundred)), minute, 'DurationP95', [[0, 95]]],
    ['returns the 99th of 100 durations as P99', counted(30, called(0, ...hundred)), minute, 'DurationP99', [[0, 99]]],
    [
      'merges the durations of all buckets of a step',
      counted(60, called(30, 10, 10), called(45, 40)),
      minute,
      'DurationP99',
      [[30, 40]],
    ],
    [
      'weights sampled durations by the calls of their bucket',
      counted(30, bucket(0, { invocations: 1000, durations: [5] }), called(15, 90, 90, 90)),
      minute,
      'DurationP95',
      [[0, 5]],
    ],
  ]
  for (const [sentence, given, range, name, expected] of cases) {
    it(sentence, () => {
      const points = callSeries(given, range).points[name] ?? []
      const seen = points.map(({ timestamp, value }) => [Date.parse(timestamp) / 1000 - NOON, value])
      expect(seen).to.deep.equal(expected)
    })
  }

  const completeness: [sentence: string, CountedCalls | undefined, Span, isComplete: boolean][] = [
    ['nothing was counted', undefined, minute, false],
    ['all of the time is counted', counted(60), minute, true],
    ['the time lies within the counted time', counted(600), span(100, 200, 15), true],
    ['the time begins before counting began', counted(60), span(-1, 60, 30), false],
    ['the time ends 10 s after the counted time', counted(60), span(0, 70, 30), true],
    ['the time ends 240 s after the counted time', counted(60), span(0, 300, 30), false],
    ['the time ends before counting began', counted(60), span(-600, -60, 30), false],
  ]
  for (const [sentence, given, range, expected] of completeness) {
    it(`returns isComplete ${expected} if ${sentence}`, () =>
      expect(callSeries(given, range).isComplete).to.equal(expected))
  }
})
