from cloudconsole.cli.entry import main

raise SystemExit(main())
