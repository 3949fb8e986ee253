/** DNS look-ups of the platform. */
export interface DnsPort {
  /** Returns the TXT values of a name, each in one piece; none if there is no record or no answer in time. */
  texts(name: string): Promise<readonly string[]>
}
