/** What the platform asks the domain name system. */
export interface DnsPort {
  /** The texts at the name, each whole; none if there is no such record, and none if nobody answers in time. */
  texts(name: string): Promise<readonly string[]>
}
