import { expect } from 'chai'
import type { CallBucket, CountedCalls } from '../../contracts/functionCalls.ts'
import { callSeries } from './callSeries.ts'

/** A multiple of fifteen seconds. */
const NOON = Date.parse('2026-11-22T12:00:00Z') / 1000

type Some = Partial<CallBucket>
const bucket = (after: number, some: Some): CallBucket => {
  const nothing = { invocations: 0, errors: 0, throttles: 0, coldStarts: 0, durations: [] }
  return { ...nothing, at: NOON + after, ...some }
}
/** From noon on, as long as is said. */
const counted = (seconds: number, ...buckets: CallBucket[]): CountedCalls => ({
  since: NOON,
  until: NOON + seconds,
  buckets,
})
/** Seconds after noon. */
const span = (from: number, to: number, stepSeconds: number) => ({ from: NOON + from, to: NOON + to, stepSeconds })
type Span = ReturnType<typeof span>

describe('the series of calls', () => {
  const minute = span(0, 60, 30)
  const called = (after: number, ...durations: number[]) => bucket(after, { invocations: durations.length, durations })
  const hundred = Array.from({ length: 100 }, (_, index) => index + 1)

  type Seen = [secondsAfterNoon: number, value: number][]
  const cases: [sentence: string, CountedCalls | undefined, Span, name: string, Seen][] = [
    ['have no points where nobody counted', undefined, minute, 'Invocations', []],
    [
      'are zero where somebody counted and nobody called',
      counted(60),
      minute,
      'Invocations',
      [
        [0, 0],
        [30, 0],
      ],
    ],
    [
      'are calls a second, over all buckets of a step',
      counted(60, bucket(0, { invocations: 10 }), bucket(15, { invocations: 20 }), bucket(45, { invocations: 3 })),
      minute,
      'Invocations',
      [
        [0, 1],
        [30, 0.1],
      ],
    ],
    [
      'hold errors',
      counted(60, bucket(30, { errors: 6 })),
      minute,
      'Errors',
      [
        [0, 0],
        [30, 0.2],
      ],
    ],
    [
      'hold refused calls',
      counted(60, bucket(30, { throttles: 6 })),
      minute,
      'Throttles',
      [
        [0, 0],
        [30, 0.2],
      ],
    ],
    [
      'hold cold starts',
      counted(60, bucket(30, { coldStarts: 6 })),
      minute,
      'ColdStarts',
      [
        [0, 0],
        [30, 0.2],
      ],
    ],
    [
      'have no points before counting began',
      counted(60),
      span(-60, 60, 30),
      'Invocations',
      [
        [0, 0],
        [30, 0],
      ],
    ],
    ['have no points of a time to come', counted(20), span(0, 120, 30), 'Invocations', [[0, 0]]],
    ['have no points of a time that nothing is known of', counted(60), span(-600, -60, 30), 'Invocations', []],
    [
      'are over the seconds that have passed, in the step that runs',
      counted(40, bucket(30, { invocations: 5 })),
      minute,
      'Invocations',
      [
        [0, 0],
        [30, 0.5],
      ],
    ],
    [
      'are over the seconds that were counted, in the step in which counting began',
      { since: NOON + 10, until: NOON + 60, buckets: [bucket(0, { invocations: 4 })] },
      minute,
      'Invocations',
      [
        [0, 0.2],
        [30, 0],
      ],
    ],
    [
      'take a bucket for the step in which it begins, where steps and buckets do not meet',
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
      'hold the calls of the moment at which the time that is asked for begins',
      counted(60, bucket(0, { invocations: 30 })),
      span(14, 44, 15),
      'Invocations',
      [
        [14, 1],
        [29, 0],
      ],
    ],
    [
      'end where the time that is asked for ends, in the middle of a step',
      counted(60, bucket(0, { invocations: 15 }), bucket(15, { invocations: 15 })),
      span(0, 15, 30),
      'Invocations',
      [[0, 1]],
    ],
    ['have no duration where nobody called', counted(60, called(30, 7)), minute, 'DurationP50', [[30, 7]]],
    [
      'have no duration where all calls were refused',
      counted(60, bucket(0, { throttles: 3 })),
      minute,
      'DurationP99',
      [],
    ],
    ['have the middle one of three durations', counted(30, called(0, 30, 10, 20)), minute, 'DurationP50', [[0, 20]]],
    ['have the lower one of two durations as P50', counted(30, called(0, 30, 10)), minute, 'DurationP50', [[0, 10]]],
    ['have the 95th of a hundred durations', counted(30, called(0, ...hundred)), minute, 'DurationP95', [[0, 95]]],
    ['have the 99th of a hundred durations', counted(30, called(0, ...hundred)), minute, 'DurationP99', [[0, 99]]],
    [
      'have the durations of all buckets of a step',
      counted(60, called(30, 10, 10), called(45, 40)),
      minute,
      'DurationP99',
      [[30, 40]],
    ],
    [
      'let a sample stand for the calls that it was taken from',
      counted(30, bucket(0, { invocations: 1000, durations: [5] }), called(15, 90, 90, 90)),
      minute,
      'DurationP95',
      [[0, 5]],
    ],
  ]
  for (const [sentence, given, asked, name, expected] of cases) {
    it(sentence, () => {
      const points = callSeries(given, asked).points[name] ?? []
      const seen = points.map(({ timestamp, value }) => [Date.parse(timestamp) / 1000 - NOON, value])
      expect(seen).to.deep.equal(expected)
    })
  }

  const completeness: [sentence: string, CountedCalls | undefined, Span, isComplete: boolean][] = [
    ['nobody counted', undefined, minute, false],
    ['all of the time is counted', counted(60), minute, true],
    ['it lies in the middle of what is counted', counted(600), span(100, 200, 15), true],
    ['it begins before counting began, or is forgotten', counted(60), span(-1, 60, 30), false],
    ['it ends a moment after the last answer, by another clock', counted(60), span(0, 70, 30), true],
    ['it ends in a time to come', counted(60), span(0, 300, 30), false],
    ['all of it is over and forgotten', counted(60), span(-600, -60, 30), false],
  ]
  for (const [sentence, given, asked, expected] of completeness) {
    it(`are ${expected ? '' : 'not '}complete if ${sentence}`, () =>
      expect(callSeries(given, asked).isComplete).to.equal(expected))
  }
})
