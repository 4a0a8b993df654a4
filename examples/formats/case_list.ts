interface BenchmarkCase {
  query: string;
  expectedIds: string[];
  category?: string;
}

// The most relevant id comes first.
export const BENCHMARK_CASES: BenchmarkCase[] = [
  { query: "create a ticket", expectedIds: ["ticket.create", "ticket.create_many"], category: "crud" },
  // Who asks this means permissions.
  { query: 'who may close a ticket', expectedIds: ['permission.list'], category: 'users' },
];
