/** Which requests are meant: those that a Gateway led by this HTTPRoute to this Service. */
export type Routed = { namespace: string; route: string; service: string }

/** In seconds since the epoch. The last step ends with `to`, and may be shorter. */
export type Steps = { from: number; to: number; stepSeconds: number }

/** What was counted of the requests that ended in one step. */
export type CountedStep = {
  /** When it begins, in seconds since the epoch. */
  at: number
  /** Requests by status code. */
  codes: Readonly<Record<string, number>>
  bytesIn: number
  bytesOut: number
  /** How long all of them took together. */
  seconds: number
  /** How many took at most so many seconds, by ascending bound; the last bound is Infinity. */
  durations: readonly (readonly [atMost: number, requests: number])[]
}

export type CountedRequests = {
  /** Whether the Gateway was measured at both ends. Counters only grow, so what is between is known then. */
  isComplete: boolean
  /** Only those at whose end the Gateway was measured. */
  steps: readonly CountedStep[]
}

/** What the Gateway counted of requests. */
export interface RequestFigures {
  /**
   * Undefined if it cannot be learnt now: nobody measures, or whoever does gives no answer in time. It never rejects:
   * figures are shown where they are there, and nothing depends on them.
   */
  of(routed: Routed, steps: Steps): Promise<CountedRequests | undefined>
}

/** Files of the log that wait for the archive, and how much of its volume the log fills, 0 to 100. */
export type MeasuredLog = { readyCount: number | undefined; volumePercent: number | undefined }

/** What is measured of the logs of databases. */
export interface DatabaseLogs {
  /** By `<namespace>/<Cluster of CloudNativePG>`; empty if it cannot be learnt now. It never rejects. */
  all(): Promise<ReadonlyMap<string, MeasuredLog>>
}
